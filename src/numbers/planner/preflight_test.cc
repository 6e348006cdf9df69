#include "planner/preflight.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "plan/memory_check.h"
#include "plan/plan_test_support.h"
#include "planner/open_layout.h"

namespace troika::planner {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using namespace plan;  // what is planned: its names are the subject

std::string told(const config::Settings& settings, int world, const HostRanks& ranks, std::optional<std::int64_t> vocabulary) {
  try {
    check_before_start(config::resolve(settings, world), ranks, vocabulary);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "starts";
}

std::string told(const config::Settings& settings, int world, const HostRanks& ranks) {
  return told(settings, world, ranks, settings.model.vocab);
}

TEST(Preflight, WhatFitsStarts) { EXPECT_EQ(told(small_settings(), 4, {0, 4, 4 * gib}), "starts"); }

TEST(Preflight, WhatNoLayoutFitsIsRefusedInTheWordsOfTheRanks) {
  const std::string text = told(small_settings(), 2, {0, 2, gib / 16});
  EXPECT_THAT(text, HasSubstr("its share of this host's free memory is 32.0 MiB (2 ranks here)"));
  const config::Resolved resolved = config::resolve(small_settings(), 2);
  try {
    check_memory(make_plan(resolved, small_data()), 0, {Room::Where::host, gib / 16, 2});
    FAIL() << "the ranks accept it";
  } catch (const base::ConfigError& error) {
    EXPECT_EQ(error.what(), text);
  }
}

TEST(Preflight, TheNearestLayoutThatFitsIsNamed) {
  config::Settings s = small_settings();
  s.model.hidden = 512;
  s.model.ffn = 2048;
  const auto need = make_plan(config::resolve(s, 2), small_data()).memory.front().total();
  EXPECT_THAT(told(s, 2, {0, 2, 2 * need}), "starts");
  EXPECT_THAT(told(s, 2, {0, 2, 2 * (need - (4 << 20))}),
              AllOf(HasSubstr("this rank needs"), HasSubstr("; the nearest layout that fits is --")));
}

TEST(Preflight, AnOpenLayoutIsRefusedWhereNoneFits) {
  config::Settings s = small_settings();
  const auto told_open = [&](std::int64_t available) -> std::string {
    try {
      check_before_choice(resolve_open(s, {}, 2), {}, {0, 2, available}, s.model.vocab);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "starts";
  };
  EXPECT_EQ(told_open(gib), "starts");
  EXPECT_THAT(told_open(gib / 16), HasSubstr("no layout fits"));
}

TEST(Preflight, OfAGpuTheTensorsCountAndOfStateOnTheHostWhatIsFetched) {
  const auto told_of_gpu = [](const config::Settings& settings, std::int64_t available) -> std::string {
    try {
      check_memory(make_plan(config::resolve(settings, 1), small_data()), 0, {Room::Where::gpu, available, 1});
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "fits";
  };
  config::Settings s = small_settings();
  const Memory need = make_plan(config::resolve(s, 1), small_data()).memory.front();
  const std::int64_t enough = on_gpu(need, config::Offload::none).total();
  EXPECT_EQ(told_of_gpu(s, enough), "fits");
  EXPECT_THAT(told_of_gpu(s, enough / 8), HasSubstr("this rank needs about "));
  EXPECT_THAT(told_of_gpu(s, enough / 8), HasSubstr("its share of its GPU's free memory is "));
  EXPECT_THAT(told_of_gpu(s, enough / 8), HasSubstr("program 1.00 GiB"));
  s.parallel.offload = config::Offload::host;
  const Memory offloaded = make_plan(config::resolve(s, 1), small_data()).memory.front();
  const std::int64_t fetched = on_gpu(offloaded, config::Offload::host).total();
  EXPECT_GT(offloaded.fetched, 0);
  EXPECT_LT(offloaded.fetched, offloaded.state);
  EXPECT_LT(fetched, enough);
  EXPECT_EQ(told_of_gpu(s, fetched), "fits");
  EXPECT_THAT(told_of_gpu(s, fetched - 1), HasSubstr("its share of its GPU's free memory is "));
}

TEST(Preflight, OfAGpuAMicrobatchThatIsToldFits) {
  config::Settings s = small_settings();
  s.model.vocab = 40000;
  s.model.hidden = 128;
  s.model.ffn = 384;
  s.precision.compute = config::Precision::bf16;
  s.batch.seq_len = 512;
  s.batch.micro_batch_size = 12;
  const auto room_for = [&](std::int64_t micro) {
    config::Settings smaller = s;
    smaller.batch.micro_batch_size = micro;
    return memory_in(make_plan(config::resolve(smaller, 1), small_data()), 0, Room::Where::gpu).total();
  };
  int told_of = 0;
  for (const std::int64_t micro : {1, 2, 3, 4, 6}) {
    const Room room{Room::Where::gpu, room_for(micro), 1};
    try {
      check_memory(make_plan(config::resolve(s, 1), small_data()), 0, room);
      FAIL() << "a micro batch of 12 fits where " << micro << " does";
    } catch (const base::ConfigError& error) {
      const std::string text = error.what();
      const auto told = text.find("--micro-batch-size ");
      if (told == std::string::npos) continue;
      ++told_of;
      EXPECT_LE(room_for(std::stoll(text.substr(told + 19))), room.available_bytes) << text;
    }
  }
  EXPECT_GE(told_of, 2);
}

TEST(Preflight, OnlyTheRanksOfThisHostCount) {
  config::Settings s = small_settings();
  s.parallel.pp = 4;
  s.model.vocab = 400000;  // the first and the last stage are large
  EXPECT_EQ(told(s, 4, {1, 2, gib}), "starts");
  EXPECT_THAT(told(s, 4, {0, 2, gib}), HasSubstr("this rank needs"));
  EXPECT_THAT(told(s, 4, {2, 2, gib}), HasSubstr("this rank needs"));
}

TEST(Preflight, TheVocabularyOfTheTokenizerCounts) {
  config::Settings s = small_settings();
  s.model.vocab = 0;
  EXPECT_THAT(told(s, 1, {0, 1, gib / 32}, 259), HasSubstr("this rank needs"));
}

TEST(Preflight, AScheduleFileForDocumentsThatAreApartIsTaken) {
  config::Settings s = small_settings();
  s.parallel.pp = 2;
  DataFacts facts = small_data();
  facts.documents = shape::Documents::apart;
  const base::TestFolder folder;
  s.parallel.schedule_file =
      folder.write("program.txt", schedule::to_text(make_plan(config::resolve(s, 2), facts).program));
  EXPECT_EQ(told(s, 2, {0, 2, 4 * gib}), "starts");
}

TEST(Preflight, WhatOnlyTheRanksWillKnowIsLeftToThem) {
  config::Settings s = small_settings();
  s.model.vocab = 0;
  EXPECT_EQ(told(s, 1, {0, 1, 1}, std::nullopt), "starts");
  s = small_settings();
  s.parallel.pp = 2;
  s.parallel.stage_balance = config::StageBalance::measured;
  EXPECT_EQ(told(s, 2, {0, 2, 1}), "starts");
}

TEST(Preflight, OfBatchesToChooseFromTheSmallestHasToFit) {
  config::Settings s = small_settings();
  s.batch.find_micro_batch_size = true;
  EXPECT_EQ(told(s, 1, {0, 1, gib / 2}), "starts");
}

TEST(Preflight, AnImpossibleRunIsRefusedForItsOwnReason) {
  config::Settings s = small_settings();
  s.parallel.schedule_file = "/nowhere/program.txt";
  EXPECT_THROW(check_before_start(config::resolve(s, 1), {0, 1, gib}, s.model.vocab), base::DataError);
}

}  // namespace
}  // namespace troika::planner
