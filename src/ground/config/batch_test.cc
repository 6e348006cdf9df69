#include "config/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_test_support.h"

namespace troika::config {
namespace {

using testing::HasSubstr;

using BatchNumbers = std::vector<std::int64_t>;  // micro, microbatches per rank, global

BatchNumbers numbers(const std::vector<std::string>& arguments, std::int64_t world,
                     const Environment& environment = {}) {
  const Batch b = resolved(arguments, world, environment).batch;
  EXPECT_EQ(b.global, b.micro * b.microbatches);
  EXPECT_EQ(b.microbatches, b.microbatches_per_rank * world);  // no pipeline in these tests
  return {b.micro, b.microbatches_per_rank, b.global};
}

TEST(Batch, AnyTwoQuantitiesGiveTheThird) {
  EXPECT_EQ(numbers({"--micro-batch-size", "1", "--global-batch-size", "12"}, 2), (BatchNumbers{1, 6, 12}));
  EXPECT_EQ(numbers({"--micro-batch-size", "3", "--batch.microbatches", "2"}, 2), (BatchNumbers{3, 2, 12}));
  EXPECT_EQ(numbers({"--batch.microbatches", "2", "--global-batch-size", "12"}, 2), (BatchNumbers{3, 2, 12}));
  EXPECT_EQ(numbers({"--micro-batch-size", "3", "--batch.microbatches", "2", "--global-batch-size", "12"}, 2),
            (BatchNumbers{3, 2, 12}));
}

TEST(Batch, OneQuantityIsCompletedByDefaults) {
  EXPECT_EQ(numbers({}, 1), (BatchNumbers{4, 4, 16}));
  EXPECT_EQ(numbers({}, 3), (BatchNumbers{4, 4, 48}));
  EXPECT_EQ(numbers({"--micro-batch-size", "2"}, 2), (BatchNumbers{2, 1, 4}));
  EXPECT_EQ(numbers({"--global-batch-size", "12"}, 1), (BatchNumbers{3, 4, 12}));
  EXPECT_EQ(numbers({"--global-batch-size", "12"}, 2), (BatchNumbers{2, 3, 12}));
  EXPECT_EQ(numbers({"--num_microbatches", "8"}, 1), (BatchNumbers{2, 8, 16}));
  EXPECT_EQ(numbers({"--num_microbatches", "3"}, 1), (BatchNumbers{5, 3, 15}));
  EXPECT_EQ(numbers({"--num_microbatches", "20"}, 1), (BatchNumbers{1, 20, 20}));
}

TEST(Batch, BatchSizeIsPerRankAndAnyNumberWorks) {
  EXPECT_EQ(numbers({"--batch_size", "8", "--microbatch_num", "4"}, 1), (BatchNumbers{2, 4, 8}));
  EXPECT_EQ(numbers({"--batch_size", "3"}, 3), (BatchNumbers{1, 3, 9}));
  EXPECT_EQ(numbers({"--batch_size", "7"}, 3), (BatchNumbers{7, 1, 21}));
  for (int size = 1; size <= 40; ++size) EXPECT_EQ(numbers({"--batch_size", std::to_string(size)}, 3)[2], 3 * size);
  const Resolved odd = resolved({"--batch_size", "3"}, 3);
  ASSERT_EQ(odd.notes.size(), 1u);
  EXPECT_THAT(odd.notes[0].english, testing::HasSubstr("3 of 1 sequence"));
  EXPECT_TRUE(resolved({"--batch_size", "8"}, 3).notes.empty());
}

TEST(Batch, AStatedNumberOfMicrobatchesThatDoesNotDivideIsRefused) {
  EXPECT_EQ(resolve_error({"--batch_size", "10"}, 2, {{"MICROBATCH_NUM", "4"}}),
            "batch.batch_size 10 is not a multiple of num_microbatches 4: 8 and 12 are the nearest multiples");
  EXPECT_EQ(resolve_error({"--batch_size", "3", "--microbatch_num", "4"}, 2),
            "batch.batch_size 3 is not a multiple of num_microbatches 4: 4 is the nearest multiple");
}

std::string note_of(const std::vector<std::string>& flags, int world) {
  const Resolved run = resolved(flags, world);
  return run.notes.size() == 1 ? run.notes.front().english : "";
}

TEST(Batch, AGlobalBatchThatDoesNotDivideIsComputedUnevenly) {
  const Resolved odd = resolved({"--global-batch-size", "13", "--micro-batch-size", "1"}, 2);
  EXPECT_EQ(odd.batch.global, 13);
  EXPECT_EQ(odd.batch.microbatches_per_rank, 7);
  EXPECT_EQ(odd.batch.microbatches, 14);
  EXPECT_THAT(describe_batch(odd).english, HasSubstr("global 13 in microbatches of 1, at most 7 for each rank of dp 2"));
  EXPECT_EQ(to_yaml(resolve(odd.settings, 2).settings), to_yaml(odd.settings)) << "resolving again changes nothing";
  EXPECT_EQ(note_of({"--global-batch-size", "13", "--micro-batch-size", "1"}, 2),
            "a step of 13 sequences is not a multiple of dp 2: some ranks compute less of it than others (12 and 14 are the nearest multiples)");
  EXPECT_EQ(note_of({"--global-batch-size", "14", "--micro-batch-size", "3"}, 2),
            "a step of 14 sequences is not a multiple of micro_batch_size 3 x dp 2 = 6: some ranks compute less of it than others (12 and 18 are the nearest multiples)");
  EXPECT_EQ(note_of({"--global-batch-size", "7", "--micro-batch-size", "2"}, 1),
            "a step of 7 sequences is not a multiple of micro_batch_size 2: its last microbatch is smaller (6 and 8 are the nearest multiples)");
  EXPECT_EQ(resolved({"--global-batch-size", "14", "--micro-batch-size", "3"}, 2).batch.microbatches_per_rank, 3);
  EXPECT_EQ(resolved({"--global-batch-size", "2"}, 3).batch.microbatches_per_rank, 1);
  EXPECT_EQ(resolved({"--global-batch-size", "100"}, 3).batch.micro, 8);  // 4 microbatches of a rank, or more
}

TEST(Batch, ATotalThatDoesNotDivideIntoStatedMicrobatchesIsRefused) {
  EXPECT_EQ(resolve_error({"--global-batch-size", "13", "--batch.microbatches", "2"}, 2),
            "batch.global_batch_size 13 is not a multiple of microbatches 2 x dp 2 = 4: 12 and 16 are the nearest multiples");
  EXPECT_NE(resolve_error({"--global-batch-size", "13", "--gradient_accumulation_steps", "2"}, 2), "");
}

TEST(Batch, ATotalInTokensNamesWhatDivides) {
  EXPECT_EQ(
      resolve_error({"--device_batch_size=16", "--total_batch_size=49153", "--seq-len=2048"}, 2),
      "batch.total_batch_size 49153 tokens is not a multiple of micro_batch_size 16 x seq_len 2048 x dp 2 = 65536: 65536 is the nearest multiple");
  EXPECT_EQ(resolved({"--device_batch_size=16", "--total_batch_size=49152", "--seq-len=2048"}, 2).batch.global, 24);
  EXPECT_EQ(numbers({"--device_batch_size=16", "--total_batch_size=65536", "--seq-len=2048"}, 2),
            (BatchNumbers{16, 1, 32}));
  EXPECT_EQ(numbers({"--device_batch_size=16", "--total_batch_size=131072", "--seq-len=2048"}, 2),
            (BatchNumbers{16, 2, 64}));
}

TEST(Batch, AccumulationMultipliesTheMicrobatches) {
  EXPECT_EQ(numbers({"--gradient_accumulation_steps", "3"}, 1), (BatchNumbers{4, 12, 48}));
  EXPECT_EQ(numbers({"--device_batch_size", "2", "--gradient_accumulation_steps", "8"}, 2), (BatchNumbers{2, 8, 32}));
  EXPECT_EQ(numbers({"--batch_size", "8", "--num_microbatches", "2", "--gradient_accumulation_steps", "3"}, 1),
            (BatchNumbers{4, 6, 24}));
  EXPECT_EQ(numbers({"--batch_size", "6", "--gradient_accumulation_steps", "2"}, 1), (BatchNumbers{2, 6, 12}));
  EXPECT_EQ(numbers({"--global-batch-size", "24", "--gradient_accumulation_steps", "2"}, 1), (BatchNumbers{3, 8, 24}));
  EXPECT_EQ(resolve_error({"--batch.microbatches", "8", "--gradient_accumulation_steps", "2", "--batch_size", "6"}, 1),
            "batch.batch_size 6 is not a multiple of microbatches / accumulation 4: 4 and 8 are the nearest multiples");
  EXPECT_EQ(resolve_error({"--batch.microbatches", "7", "--gradient_accumulation_steps", "2"}, 1),
            "batch.microbatches 7 is not a multiple of accumulation 2: 6 and 8 are the nearest multiples");
}

TEST(Batch, StatementsThatContradictAreRefused) {
  EXPECT_EQ(resolve_error({"--micro-batch-size", "1", "--batch.microbatches", "4", "--global-batch-size", "12"}, 2),
            "batch.global_batch_size 12 is not micro_batch_size 1 x microbatches 4 x dp 2 = 8: leave one of them out, "
            "and it is "
            "derived");
  EXPECT_EQ(resolve_error({"--batch_size", "8", "--global-batch-size", "12"}, 2),
            "batch.global_batch_size 12 is not micro_batch_size 2 x microbatches 4 x dp 2 = 16: leave one of them out, "
            "and it is "
            "derived");
  EXPECT_EQ(resolve_error({"--batch.microbatches", "4", "--num_microbatches", "3", "--micro-batch-size", "1"}, 1),
            "batch.microbatches 4 is not num_microbatches 3 x accumulation 1 = 3: leave one of them out");
}

TEST(Batch, SizesBeyondAllReasonAreRefusedWithoutOverflow) {
  EXPECT_THAT(resolve_error({"--micro-batch-size", "1048576", "--num_microbatches", "1048576",
                             "--gradient_accumulation_steps", "1048576", "--seq-len", "4096"},
                            4),
              testing::HasSubstr("2^50 positions"));
}

TEST(Batch, IsDescribedInOneLine) {
  EXPECT_EQ(describe_batch(resolved({"--micro-batch-size", "1", "--global-batch-size", "12", "--seq-len", "64"}, 2)).english,
            "global 12 = micro 1 x 6 microbatches x dp 2 (768 positions per step at seq_len 64)");
}

TEST(Batch, NearestMultiplesLieAround) {
  EXPECT_EQ(nearest_multiples(10, 4).english, "8 and 12 are the nearest multiples");
  EXPECT_EQ(nearest_multiples(3, 4).english, "4 is the nearest multiple");
}

TEST(Shares, SayHowManyMicrobatchesAStepHas) {
  const auto of = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--shares", "9,4"});
    return resolved(arguments, 2);
  };
  const Resolved both = of({"--micro-batch-size", "2", "--global-batch-size", "26"});
  EXPECT_EQ(both.batch.microbatches, 13);
  EXPECT_EQ(both.batch.micro, 2);
  EXPECT_THAT(describe_batch(both).english, HasSubstr("global 26 = micro 2 x 13 microbatches in shares of 9, 4"));
  EXPECT_EQ(of({"--global-batch-size", "39"}).batch.micro, 3);
  EXPECT_EQ(of({"--micro-batch-size", "1"}).batch.global, 13);
  EXPECT_EQ(of({"--micro-batch-size", "1", "--total_batch_size", "832", "--seq-len", "64"}).batch.global, 13);
  EXPECT_EQ(resolve(both.settings, 2).batch.microbatches, 13);  // what is printed says the same again
}

TEST(Shares, ThatContradictOtherSettingsAreRefused) {
  const auto told = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--shares", "9,3", "--micro-batch-size", "1"});
    return resolve_error(arguments, 2);
  };
  EXPECT_THAT(told({"--global-batch-size", "13"}),
              HasSubstr("batch.global_batch_size 13 is not sum(parallel.shares) 12 x micro_batch_size 1 = 12"));
  EXPECT_THAT(told({"--batch.microbatches", "6"}), HasSubstr("batch.microbatches and parallel.shares both set the number of sequences of a rank"));
  EXPECT_THAT(told({"--batch_size", "6"}), HasSubstr("batch.batch_size and parallel.shares both set the number of sequences of a rank"));
  EXPECT_THAT(told({"--zero", "2"}), HasSubstr("parallel.shares needs zero 0 or 1, not 2"));
  EXPECT_THAT(resolve_error({"--shares", "9,3"}, 3), HasSubstr("parallel.shares has 2 entries for dp 3"));
  EXPECT_THAT(resolve_error({"--shares", "9,0"}, 2), HasSubstr("parallel.shares"));
}

TEST(Shares, GiveWayToAnotherNumberOfRanksAndReplaceLowerMicrobatches) {
  const std::string file = temporary_file(
      "shares.yaml", "parallel: {dp: 2, shares: [9, 3]}\nbatch: {micro_batch_size: 1, global_batch_size: 12}\n");
  EXPECT_TRUE(resolved({file, "--dp", "3"}, 3).settings.parallel.shares.empty());
  const std::string pinned =
      temporary_file("pinned.yaml", "batch: {micro_batch_size: 1, microbatches: 6, global_batch_size: 12}\n");
  EXPECT_EQ(resolved({pinned, "--shares", "9,3"}, 2).batch.microbatches, 12);
}

}  // namespace

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::int64_t> sizes(const Resolved& run) {
  std::vector<std::int64_t> sizes;
  for (const Batch& batch : run.batch_candidates) sizes.push_back(batch.micro);
  return sizes;
}

TEST(MicroBatch, TheSequencesPerStepStayWhereTheyAreStated) {
  const Resolved run = resolved({"--global-batch-size", "24", "--find-micro-batch-size"}, 2);
  EXPECT_THAT(sizes(run), ElementsAre(1, 2, 3, 4, 6, 12));
  for (const Batch& batch : run.batch_candidates) {
    EXPECT_EQ(batch.global, 24);
    EXPECT_EQ(batch.micro * batch.microbatches, 24);
  }
}

TEST(MicroBatch, AccumulationKeepsItsRounds) {
  EXPECT_THAT(sizes(resolved({"--batch_size", "8", "--gradient_accumulation_steps", "3", "--auto_find_batch_size"}, 1)),
              ElementsAre(1, 2, 4, 8));
}

TEST(MicroBatch, AStatedSizeThatContradictsTheTotalIsLeftOut) {
  const Resolved run = resolved({"--micro-batch-size", "5", "--global-batch-size", "12", "--find-micro-batch-size"}, 1);
  EXPECT_EQ(run.batch.global, 12);
  EXPECT_THAT(sizes(run), ElementsAre(1, 2, 3, 4, 6, 12));
  EXPECT_THAT(sizes(resolved({"--global-batch-size", "7", "--find-micro-batch-size"}, 2)), ElementsAre(1, 2, 3, 4));
}

TEST(MicroBatch, WithoutATotalTheMicrobatchesStay) {
  const Resolved run = resolved({"--micro-batch-size", "2", "--batch.microbatches", "3", "--find-micro-batch-size"}, 2);
  EXPECT_EQ(sizes(run).size(), 24u);
  EXPECT_THAT(std::vector<std::int64_t>(sizes(run)).back(), most_free_micro_batch);
  for (const Batch& batch : run.batch_candidates) {
    EXPECT_EQ(batch.microbatches_per_rank, 3);
    EXPECT_EQ(batch.global, batch.micro * 6);
  }
}

TEST(MicroBatch, WithoutTheSettingThereIsNothingToChoose) {
  EXPECT_THAT(sizes(resolved({"--global-batch-size", "24"}, 2)), IsEmpty());
}

TEST(MicroBatch, TheChosenBatchPinsTheRun) {
  const Resolved run = resolved({"--global-batch-size", "24", "--find-micro-batch-size"}, 2);
  const Resolved chosen = with_batch(run, run.batch_candidates[3]);
  EXPECT_EQ(chosen.batch.micro, 4);
  EXPECT_FALSE(chosen.settings.batch.find_micro_batch_size);
  EXPECT_EQ(resolve(chosen.settings, 2).batch.micro, 4);
  EXPECT_EQ(resolve(chosen.settings, 2).batch.global, 24);
  EXPECT_EQ(to_yaml(resolve(run.settings, 2).settings), to_yaml(run.settings)) << "resolving again changes nothing";
}

}  // namespace

}  // namespace troika::config
