#include "train/reproducibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "base/error.h"
#include "comm/threads_channel_test_support.h"
#include "cpu/product.h"
#include "tensor/device.h"

namespace troika::train {
namespace {
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> answers(const std::vector<Traits>& ranks) {
  auto channels = comm::make_thread_channels(static_cast<int>(ranks.size()), "world", 20);
  std::vector<std::string> found(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] { found[i] = different_ranks(*channels[i], ranks[i]).english; });
  }
  for (auto& thread : threads) thread.join();
  return found;
}

TEST(EqualBits, EqualRanksAreNotRemarkedOn) {
  const Traits traits{{"the processor", base::verbatim("a")}, {"the matrix library", base::verbatim("2")}};
  EXPECT_THAT(answers({traits, traits, traits}), Each(""));
  EXPECT_THAT(answers({traits}), Each(""));
}

TEST(EqualBits, TheFirstTraitThatDiffersIsNamedAlikeOnEveryRank) {
  const auto with = [](const std::string& processor, const std::string& library) {
    return Traits{{"the processor", base::verbatim(processor)}, {"the matrix library", base::verbatim(library)}};
  };
  const auto found = answers({with("a", "2"), with("a", "2"), with("b", "3"), with("c", "2")});
  EXPECT_THAT(found[0], HasSubstr("the processor is 'a' on rank 0 but 'b' on rank 2;"));
  EXPECT_THAT(found, Each(found[0]));
  EXPECT_THAT(answers({with("a", "2"), with("a", "3")}),
              Each(HasSubstr("the matrix library is '2' on rank 0 but '3' on rank 1;")));
}

TEST(EqualBits, ThisRankTellsItsProcessorLibrariesAndProgram) {
  const Traits traits = traits_of_this_rank(tensor::Device());
  std::map<std::string, std::string> value;
  for (const auto& [name, text] : traits) EXPECT_FALSE((value[name] = text.english).empty()) << name;
  ASSERT_EQ(value.size(), 4u);
  EXPECT_EQ(value["the device"], "cpu");
  EXPECT_EQ(value["the matrix library"], cpu::product_library());
  EXPECT_EQ(value["the program's fingerprint"].size(), 16u);
}

config::Settings settings(const std::string& reproducible = "run") {
  config::Settings s;
  s.batch.micro_batch_size = 1;
  s.parallel.reproducible = config::parse_word<config::Reproducible>(reproducible).value();
  return s;
}

TEST(EqualBits, ALayoutThatKeepsTheOrderOfSumsMayGoOnFromAnyOther) {
  config::Settings saved = settings(), now = settings();
  saved.parallel.dp = 4;
  saved.parallel.zero = 3;
  now.parallel.pp = 2;
  now.parallel.schedule = config::Schedule::zb_h1;
  now.parallel.recompute = config::Recompute::full;
  now.parallel.sequence_parallel = false;  // with tp 1 it does nothing
  now.train.threads = 2;                   // the other did not state any
  EXPECT_TRUE(different_sums(saved, now).empty());
}

TEST(EqualBits, WhatOrdersSumsAnewSinceTheCheckpointIsNamedWithBothValues) {
  config::Settings saved = settings(), now = settings();
  saved.parallel.tp = 2;
  now.batch.micro_batch_size = 2;
  EXPECT_EQ(different_sums(saved, now).english,
            "since the checkpoint parallel.tp changed from 2 to 1, batch.micro_batch_size changed from 1 to 2; the run resumes within rounding, not bit-identically");
  saved = now = settings();
  now.precision.compute = config::Precision::bf16;
  EXPECT_THAT(different_sums(saved, now).english, HasSubstr("precision.compute changed from fp32 to bf16"));
}

TEST(EqualBits, ZeroAndSharesCutNoSumAnew) {
  config::Settings saved = settings(), now = settings();
  saved.parallel.cp = now.parallel.cp = 2;
  now.parallel.zero = 2;
  now.parallel.shares = {9, 3};
  EXPECT_TRUE(different_sums(saved, now).empty());
  saved.parallel.tp = now.parallel.tp = 2;
  saved.parallel.zero = 3;
  now.parallel.sequence_parallel = false;
  EXPECT_THAT(different_sums(saved, now).english,
              AllOf(HasSubstr("parallel.sequence_parallel changed from true to false"), Not(HasSubstr("zero"))));
}

TEST(EqualBits, SumsInAnyOrderAreOtherSums) {
  EXPECT_THAT(different_sums(settings("off"), settings("run")).english,
              HasSubstr("parallel.reproducible changed from off to run"));
  EXPECT_TRUE(different_sums(settings("bits"), settings("run")).empty());
}

TEST(EqualBits, SumsInTheOrderOfALayoutAreThoseOfThatLayoutAlone) {
  config::Settings saved = settings("layout"), now = saved;
  now.train.threads = 2;
  now.parallel.recompute = config::Recompute::full;
  EXPECT_TRUE(different_sums(saved, now).empty());
  saved.parallel.dp = 4;
  now.parallel.dp = now.parallel.zero = 1;
  EXPECT_THAT(different_sums(saved, now).english,
              HasSubstr("parallel.dp changed from 4 to 1, parallel.zero changed from 0 to 1;"));
  EXPECT_THAT(different_sums(settings("run"), settings("layout")).english,
              HasSubstr("parallel.reproducible changed from run to layout"));
}

TEST(EqualBits, RunRemarksBitsRefusesAndOffSaysNothing) {
  const base::Text they_differ = base::verbatim("they differ");
  EXPECT_EQ(note_or_refuse(settings("layout"), they_differ).english, "they differ");
  EXPECT_EQ(note_or_refuse(settings("run"), they_differ).english, "they differ");
  EXPECT_TRUE(note_or_refuse(settings("off"), they_differ).empty());
  EXPECT_TRUE(note_or_refuse(settings("bits"), {}).empty());
  try {
    note_or_refuse(settings("bits"), they_differ);
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("they differ: parallel.reproducible=bits does not allow"), HasSubstr("to run")));
  }
}

TEST(EqualBits, UnlikeGpusAreNamed) {
  const tensor::GpuTraits one{"NVIDIA H200", 9, 0, 132, 13000, "13.1.0", "9.28.0"},
      other{"NVIDIA H100 PCIe", 9, 0, 114, 13000, "13.1.0", "9.28.0"};
  const auto of = [](const tensor::GpuTraits& gpu) { return Traits{{"the device", tensor::describe(gpu)}}; };
  EXPECT_EQ(tensor::describe(one).english,
            "NVIDIA H200, compute capability 9.0, 132 multiprocessors, driver for CUDA 13.0, cuBLAS 13.1.0, cuDNN 9.28.0");
  EXPECT_THAT(answers({of(one), of(one)}), Each(""));
  EXPECT_THAT(answers({of(one), of(other)}), Each(HasSubstr("but 'NVIDIA H100 PCIe, ")));
}

}  // namespace
}  // namespace troika::train
