// Training on packed samples: as on the sequences one by one, and with the same bits in every layout.
#include <gtest/gtest.h>

#include <algorithm>

#include "data/loader.h"
#include "train/evaluation_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {

class PackedRuns : public testing::Test {
 protected:
  PackedRuns()
      : packed_(packed_samples(runs_.settings.batch.seq_len)),
        padded_(data::counted_targets(drawn_sequences(runs_.settings.batch.seq_len), runs_.settings.batch.seq_len),
                runs_.settings.batch.seq_len) {
    runs_.settings.model.layers = 4;
  }

  // One step over all of `samples`, then an evaluation on them.
  metrics::StepMetrics epoch(const data::Samples& samples, const std::string& name, const std::string& layout) {
    runs_.samples = runs_.valid = &samples;
    runs_.settings.train.steps = 1;
    runs_.settings.batch.global_batch_size = samples.samples();
    return runs_.train(name, layout).at(0);
  }

  static void expect_near(double got, double want, const std::string& what) {
    EXPECT_NEAR(got, want, 1e-5 * want) << what;
  }

  LayoutRuns runs_;
  const std::unique_ptr<data::SequenceSamples> packed_;
  const data::SequenceSamples padded_;
};

TEST_F(PackedRuns, HaveLossAndGradientNormOfTheSequencesOneByOne) {
  ASSERT_LT(packed_->samples(), 40);
  const config::Settings qwen3 = runs_.settings;
  for (const auto use : {+[](config::Settings*) {}, use_llama, use_gpt2}) {
    runs_.settings = qwen3;
    use(&runs_.settings);
    const std::string family = word_of(runs_.settings.model.architecture);
    const auto want = epoch(padded_, family, "");
    for (const std::string layout : {"", "cp 2", "tp 2", "pp 3"}) {
      const auto got = epoch(*packed_, family + layout + " packed", layout);
      EXPECT_EQ(got.tokens, want.tokens);
      expect_near(got.loss, want.loss, family + layout);
      expect_near(got.grad_norm, want.grad_norm, family + layout);
      EXPECT_EQ(got.extra.at("valid_tokens"), want.extra.at("valid_tokens"));
      expect_near(got.extra.at("valid_loss"), want.extra.at("valid_loss"), family + layout);
    }
  }
}

TEST_F(PackedRuns, GiveTheSameBitsInEveryLayout) {
  runs_.settings.train.steps = 3;
  runs_.settings.train.eval_every = 2;
  runs_.samples = runs_.valid = packed_.get();
  const auto run = [&](const std::string& layout) {
    const auto rows = runs_.train(layout, layout);
    EXPECT_EQ(rows.size(), 3u) << layout;
    return rows;
  };
  const auto alone = run("threads 1");
  const std::vector<std::string> layouts{"pp 3", "pp 4 zb-h1 recompute full", "pp 2 interleaved 2", "dp 2 pp 3 zero 3",
                                         "dp 3 zero 2 recompute selective"};
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const auto rows = run(take_turns(layouts[i], i));
    for (std::size_t row = 0; row < alone.size(); ++row) {
      EXPECT_EQ(rows[row].loss_bits, alone[row].loss_bits) << layouts[i];
      EXPECT_EQ(rows[row].grad_norm, alone[row].grad_norm) << layouts[i];
    }
    EXPECT_EQ(rows[1].extra.at("valid_loss"), alone[1].extra.at("valid_loss")) << layouts[i];
  }
}

TEST_F(PackedRuns, WithoutShufflingReadTheSamplesInTheirOrder) {
  runs_.settings.data.shuffle = false;
  runs_.settings.train.steps = 2;
  runs_.samples = packed_.get();
  const auto rows = runs_.train("natural", "dp 2");
  for (std::int64_t step = 0; step < 2; ++step) {
    std::int64_t tokens = 0;
    for (std::int64_t sample = 12 * step; sample < 12 * (step + 1); ++sample) {
      const std::vector<std::int32_t> targets = data::read_batch(*packed_, {sample}, sample).targets;
      tokens += std::count_if(targets.begin(), targets.end(), [](std::int32_t t) { return t != data::ignore_index; });
    }
    EXPECT_EQ(rows.at(static_cast<std::size_t>(step)).tokens, tokens);
  }
}

}  // namespace
}  // namespace troika::train
