// The promise of all layouts: neither the layout nor the number of threads changes the result.
#include <gtest/gtest.h>

#include <atomic>

#include "base/file.h"
#include "base/text.h"
#include "train/evaluation_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {

// Every mix of data parallel, pipeline, ZeRO, schedule, virtual stages, recomputation, overlap, offload and accumulation.
const std::vector<std::string>& layouts() {
  static const std::vector<std::string> all{
      "pp 2",
      "pp 2 gpipe",
      "pp 3",
      "pp 3 gpipe",
      "pp 4",
      "pp 8",
      "pp 2 zb-h1",
      "pp 3 zb-h1",
      "pp 4 zb-h1",
      "pp 2 interleaved 2",
      "pp 2 interleaved 4",
      "pp 3 interleaved 2",
      "pp 4 interleaved 2",
      "dp 2",
      "dp 3 gpipe",
      "dp 4",
      "dp 6",
      "dp 2 overlap off",
      "dp 3 overlap off",
      "dp 2 zero 1",
      "dp 3 zero 1",
      "dp 4 zero 1",
      "dp 3 zero 1 overlap off",
      "dp 2 zero 2",
      "dp 3 zero 2",
      "dp 4 zero 2",
      "dp 2 zero 2 overlap off",
      "dp 2 zero 3",
      "dp 3 zero 3",
      "dp 4 zero 3",
      "dp 6 zero 3",
      "dp 2 zero 3 overlap off",
      "dp 2 pp 2",
      "dp 3 pp 2 gpipe",
      "dp 2 pp 3",
      "dp 2 pp 4",
      "dp 4 pp 2",
      "dp 2 pp 2 zb-h1",
      "dp 2 pp 4 zb-h1",
      "dp 2 pp 2 interleaved 2",
      "dp 2 pp 3 interleaved 2",
      "dp 2 pp 4 interleaved 2",
      "dp 2 pp 2 zero 1",
      "dp 2 pp 2 zero 2",
      "dp 2 pp 2 zero 3",
      "dp 4 pp 2 zero 3",
      "dp 2 pp 4 zero 2",
      "dp 2 pp 2 zero 1 zb-h1",
      "dp 2 pp 2 zero 2 zb-h1",
      "dp 2 pp 3 zero 3 zb-h1",
      "dp 2 pp 2 zero 1 interleaved 2",
      "dp 2 pp 2 zero 2 interleaved 2",
      "dp 2 pp 2 zero 3 interleaved 2",
      "dp 2 pp 2 zero 2 gpipe",
      "dp 2 pp 2 zero 3 gpipe overlap off",
      "recompute full",
      "recompute selective",
      "pp 2 recompute full",
      "pp 3 zb-h1 recompute full",
      "pp 2 interleaved 2 recompute full",
      "dp 2 recompute full",
      "dp 2 zero 3 recompute full",
      "dp 2 pp 2 zero 3 recompute full",
      "dp 2 pp 2 zero 2 zb-h1 recompute full",
      "dp 3 zero 1 recompute selective",
      "offload file",
      "dp 2 zero 1 offload file",
      "dp 2 pp 2 zero 3 offload file",
      "pp 3 offload file",
      "accumulation 2",
      "dp 2 accumulation 3",
      "dp 2 pp 2 zero 1 accumulation 2",
      "shares 9,3",
      "shares 5,2,5 zero 1",
      "shares 1,11",
      "shares 7,5 pp 2",
      "shares 7,5 pp 2 zb-h1 recompute full",
      "shares 2,4,5,1 zero 1 offload file",
      "shares 4,8 pp 2 interleaved 2 overlap off",
      "stages 5,1,2",
      "dp 2 stages 1,7 zero 3",
  };
  return all;
}

class Layouts : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    runs_.settings.model.tie_embeddings = GetParam();
    runs_.settings.train.steps = 10;
  }
  LayoutRuns runs_;
};

// Lengths from 1 to the most, one sample as long as all others of some steps.
class UnevenLayouts : public Layouts {
 protected:
  void SetUp() override {
    Layouts::SetUp();
    samples_ = std::make_unique<data::SequenceSamples>(
        data::counted_targets(drawn_sequences(runs_.settings.batch.seq_len), runs_.settings.batch.seq_len), runs_.settings.batch.seq_len);
    runs_.samples = samples_.get();
    runs_.settings.train.steps = 4;
  }
  std::unique_ptr<data::SequenceSamples> samples_;
};

TEST_P(UnevenLayouts, GiveTheSameLossBitsAndGradientNormAtEveryStep) {
  const auto alone = runs_.train("alone", "threads 1");
  for (std::size_t i = 0; i < layouts().size(); ++i)
    expect_equal_rows(runs_.train(layouts()[i], take_turns(layouts()[i], i)), alone, layouts()[i]);
}

TEST_P(UnevenLayouts, AResumeInAnotherLayoutContinuesWithTheBitsOfTheUninterruptedRun) {
  const auto alone = runs_.train("alone", "threads 1");
  runs_.settings.checkpoint.every = 2;
  std::atomic<int> begun{0};
  runs_.train("chain", "dp 3 zero 2", [&](Surroundings& surroundings, int rank) {
    if (rank == 0) surroundings.hooks.stop_requested = [&begun] { return ++begun >= 2; };
  });
  expect_equal_rows(runs_.train("chain", "dp 2 pp 2 zero 1 zb-h1"), alone, "resumed");
}

// More ranks than microbatches: some have none.
TEST_P(UnevenLayouts, MicrobatchesFilledByTokensHaveTheSameBitsOnAnyNumberOfRanks) {
  runs_.settings.batch.micro_batch_size.reset();
  runs_.settings.batch.microbatches.reset();
  runs_.settings.batch.tokens_per_microbatch = 3 * runs_.settings.batch.seq_len;
  const auto alone = runs_.train("alone", "threads 1");
  for (const std::string layout : {"dp 2", "dp 3 zero 1", "dp 6 zero 0", "dp 6 zero 3", "dp 4 zero 2", "dp 2 pp 2", "pp 3 gpipe", "dp 2 pp 2 zero 3"})
    expect_equal_rows(runs_.train(layout, layout), alone, layout);
}

// The last microbatch of a step is smaller, and ranks have unequal numbers of them.
TEST_P(UnevenLayouts, AGlobalBatchThatDividesByNothingHasTheSameBits) {
  runs_.settings.batch.microbatches.reset();
  runs_.settings.batch.global_batch_size = 7;
  runs_.settings.batch.micro_batch_size = 2;
  const auto alone = runs_.train("alone", "threads 1");
  for (const std::string layout : {"dp 3", "dp 3 zero 1", "dp 3 zero 3", "dp 2 zero 2", "dp 2 pp 2 gpipe", "dp 3 pp 2 zb-h1", "dp 2 pp 2 zero 3"})
    expect_equal_rows(runs_.train(layout, layout), alone, layout);
}

INSTANTIATE_TEST_SUITE_P(Embeddings, UnevenLayouts, testing::Values(true),
                         [](const auto& which) { return which.param ? "Tied" : "Untied"; });

// An untied model differs at the two ends only: every sixth layout.
TEST_P(Layouts, GiveTheSameLossBitsAndGradientNormAtEveryStep) {
  const auto alone = runs_.train("alone", "threads 1");
  ASSERT_EQ(alone.size(), 10u);
  EXPECT_LT(alone.back().loss, alone.front().loss);
  for (std::size_t i = 0; i < layouts().size(); i += GetParam() ? 1 : 6)
    expect_equal_rows(runs_.train(layouts()[i], take_turns(layouts()[i], i)), alone, layouts()[i]);
}

TEST_P(Layouts, GiveTheSameLossBitsAndGradientNormOfGpt2) {
  use_gpt2(&runs_.settings);
  runs_.settings.model.layers = 4;
  runs_.settings.train.steps = 5;
  const auto alone = runs_.train("alone", "threads 1");
  EXPECT_LT(alone.back().loss, alone.front().loss);
  std::size_t turn = 0;
  for (const std::string layout :
       {"pp 2", "dp 2 zero 3", "dp 2 pp 3", "pp 3 zb-h1 recompute full", "dp 2 pp 2 interleaved 2 zero 1 offload file",
        "dp 2 pp 2 zero 2 recompute selective"})
    expect_equal_rows(runs_.train(layout, take_turns(layout, ++turn)), alone, layout);
}

TEST_P(Layouts, GiveTheSameLossBitsAndGradientNormOfOtherFamilies) {
  runs_.settings.model.layers = 4;
  runs_.settings.train.steps = 5;
  const config::Settings qwen3 = runs_.settings;
  for (const auto& use : {use_qwen2, use_llama, use_gemma, use_windowed_mistral}) {
    runs_.settings = qwen3;
    use(&runs_.settings);
    const std::string name = word_of(runs_.settings.model.architecture);
    const auto alone = runs_.train(name, "threads 1");
    EXPECT_LT(alone.back().loss, alone.front().loss);
    std::size_t turn = 0;
    for (const std::string layout :
         {"dp 2 zero 3", "pp 3 zb-h1 recompute full", "dp 2 pp 2 zero 2 recompute selective"})
      expect_equal_rows(runs_.train(name + " " + layout, take_turns(layout, ++turn)), alone, name + " " + layout);
  }
}

TEST_P(Layouts, AResumeInAnotherLayoutContinuesWithTheBitsOfTheUninterruptedRun) {
  const auto alone = runs_.train("alone", "threads 1");
  const std::vector<std::string> chain{"pp 3 gpipe", "dp 2 pp 2 zero 3", "dp 3 zero 2", "pp 2 interleaved 2",
                                       "dp 2 zero 1 offload file"};
  runs_.settings.checkpoint.every = 2;
  for (std::size_t part = 0; part < chain.size(); ++part) {
    const std::int64_t last = 2 * (static_cast<std::int64_t>(part) + 1);
    // Rank 0 asks to stop when the part's last step begins, as after a signal.
    std::atomic<int> begun{static_cast<int>(2 * part)};
    const auto rows = runs_.train("chain", take_turns(chain[part], part), [&](Surroundings& surroundings, int rank) {
      if (rank == 0) surroundings.hooks.stop_requested = [&begun, last] { return ++begun >= last; };
    });
    EXPECT_EQ(rows.size(), static_cast<std::size_t>(last)) << chain[part];
    if (part + 1 == chain.size()) expect_equal_rows(rows, alone, "chain of layouts");
  }
}

TEST_P(Layouts, WithSumsInTheOrderOfALayoutItHasItsBitsAgainAndStaysWithinRounding) {
  runs_.settings.train.steps = 6;
  const auto alone = runs_.train("alone", "threads 1");
  runs_.settings.parallel.reproducible = config::Reproducible::layout;
  std::vector<std::string> some{"", "dp 3 zero 1", "dp 2 pp 2 interleaved 2", "tp 2"};
  if (GetParam()) some.insert(some.end(), {"dp 2", "dp 2 zero 2", "dp 2 zero 3", "pp 3 zb-h1", "shares 7,5 pp 2", "cp 2"});
  for (const std::string& layout : some) {
    const auto rows = runs_.train("floats " + layout, layout + " threads 1");
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(rows.at(i).loss, alone[i].loss, 2e-5) << layout;
    runs_.settings.checkpoint.every = 3;
    std::atomic<int> begun{0};
    const std::string again = layout + " threads 3 recompute full";
    runs_.train("again " + layout, again, [&](Surroundings& surroundings, int rank) {
      if (rank == 0) surroundings.hooks.stop_requested = [&begun] { return ++begun >= 3; };
    });
    expect_equal_rows(runs_.train("again " + layout, again), rows, layout);
    runs_.settings.checkpoint.every = 0;
  }
}

INSTANTIATE_TEST_SUITE_P(Embeddings, Layouts, testing::Values(false),
                         [](const auto& which) { return which.param ? "Tied" : "Untied"; });
INSTANTIATE_TEST_SUITE_P(FullEmbeddings, Layouts, testing::Values(true),
                         [](const auto& which) { return which.param ? "Tied" : "Untied"; });

}  // namespace
}  // namespace troika::train
