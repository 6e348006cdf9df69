// The memory every rank holds, by its own count, equals what the plan says it will hold: to the byte.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "train/evaluation_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {

using Bytes = std::map<std::string, std::int64_t>;

struct Lane {
  Bytes measured, planned;  // by use, and "total": the most that was there at once
};

class Memory : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    runs_.settings.model.tie_embeddings = GetParam();
    runs_.settings.model.layers = 6;
    runs_.settings.train.steps = 2;
  }

  // For every grid rank, the rank that holds most.
  std::vector<Lane> run(const std::string& layout) {
    config::Settings s = runs_.settings;
    s.train.out = runs_.folder(layout);
    const int world = apply_layout(layout, &s);
    base::make_directories(s.train.out);
    const auto outcomes = train_on_threads(s, world, runs_.stream(), {}, {}, {}, runs_.valid, runs_.samples);
    const plan::Plan plan = plan_for(s, world, runs_.stream(), runs_.valid, runs_.samples);
    std::vector<Lane> ranks(plan.memory.size());
    for (int rank = 0; rank < world; ++rank) {
      const RunSummary& summary = outcomes[static_cast<std::size_t>(rank)].summary;
      Bytes& measured = ranks[static_cast<std::size_t>(mesh::grid_rank_of(plan.shape, rank))].measured;
      if (summary.peak_memory_bytes <= measured["total"]) continue;
      measured.clear();
      for (const auto& [use, bytes] : summary.peak_bytes_by_use) measured[use.english] = bytes;
      measured["total"] = summary.peak_memory_bytes;
    }
    for (std::size_t l = 0; l < ranks.size(); ++l) {
      const plan::Memory& m = plan.memory[l];
      ranks[l].planned = {{"parameters", m.parameters},
                          {"gradients", m.gradients},
                          {"state", m.state},
                          {"activations", m.activations},
                          {"total", m.at_once}};
    }
    return ranks;
  }

  void expect_as_planned(const std::vector<std::string>& layouts) {
    for (const std::string& layout : layouts) {
      const std::vector<Lane> ranks = run(layout);
      for (std::size_t l = 0; l < ranks.size(); ++l)
        EXPECT_EQ(ranks[l].measured, ranks[l].planned) << layout << ", grid rank " << l;
    }
  }

  std::vector<metrics::StepMetrics> rows(const std::string& layout) const {
    return metrics::MetricsFile(runs_.folder(layout) + "/metrics.jsonl").read();
  }

  LayoutRuns runs_;
};

TEST_P(Memory, OfEveryZeroStageIsThePlannedOneForTwoThreeAndFourReplicas) {
  fmt::print("{:10}", "bytes");
  for (const char* use : {"parameters", "gradients", "state", "activations", "total"}) fmt::print("{:>24}", use);
  fmt::print("\n{:10}", "");
  for (int i = 0; i < 5; ++i) fmt::print("{:>12}{:>12}", "measured", "planned");
  for (int dp = 2; dp <= 4; ++dp) {
    for (int zero = 0; zero <= 3; ++zero) {
      const std::string layout = fmt::format("dp {} zero {}", dp, zero);
      const std::vector<Lane> ranks = run(layout);
      fmt::print("\n{}", layout);
      for (const char* use : {"parameters", "gradients", "state", "activations", "total"}) {
        const std::int64_t measured = ranks[0].measured.at(use), planned = ranks[0].planned.at(use);
        fmt::print("{:12}{:12}", measured, planned);
        RecordProperty(fmt::format("dp{}_zero{}_{}", dp, zero, use), fmt::format("{} {}", measured, planned));
      }
      for (std::size_t l = 0; l < ranks.size(); ++l)
        EXPECT_EQ(ranks[l].measured, ranks[l].planned) << layout << ", grid rank " << l;
    }
  }
  fmt::print("\n");
}

TEST_P(Memory, OfEveryScheduleIsThePlannedOne) {
  expect_as_planned({"", "pp 2", "pp 3 gpipe", "pp 4", "pp 3 zb-h1", "pp 2 interleaved 2", "pp 3 interleaved 2",
                     "stages 3,1,2", "dp 2 pp 2", "dp 2 pp 2 zero 1 zb-h1", "dp 2 pp 2 zero 2 interleaved 2",
                     "dp 2 pp 2 zero 3", "dp 2 pp 2 zero 3 gpipe overlap off", "accumulation 3 dp 2", "shares 1,11",
                     "shares 5,2,5 zero 1", "shares 7,5 pp 2"});
}

TEST_P(Memory, OfEveryWayToSaveItIsThePlannedOne) {
  expect_as_planned({"recompute full", "recompute selective", "pp 3 zb-h1 recompute full",
                     "pp 4 zb-h1 recompute selective", "dp 2 zero 3 recompute full", "dp 2 overlap off",
                     "dp 3 zero 1 overlap off", "dp 2 zero 3 overlap off", "dp 3 zero 2 overlap off", "offload file",
                     "dp 2 pp 2 zero 3 offload file", "bf16", "dp 2 zero 3 bf16 offload file"});
}

TEST_P(Memory, OfGradientsInFp32IsThePlannedOne) {
  runs_.settings.parallel.reproducible = config::Reproducible::layout;
  expect_as_planned({"", "pp 3 zb-h1", "dp 2 accumulation 3", "dp 2 pp 2 zero 1", "dp 2 pp 2 zero 3", "tp 2", "tp 4 plain",
                     "tp 2 cp 2 pp 2", "bf16 recompute selective"});
  use_gpt2(&runs_.settings);
  expect_as_planned({"pp 2", "tp 2 dp 2"});
}

TEST_P(Memory, OfTensorAndContextParallelRanksIsThePlannedOne) {
  expect_as_planned({"tp 2", "tp 2 plain", "tp 4", "cp 2", "cp 2 zero 3", "tp 2 cp 2 zero 2", "tp 2 pp 2 dp 2 zero 2",
                     "tp 2 pp 2 recompute selective", "cp 2 pp 2 zb-h1 recompute full"});
}

TEST_P(Memory, OfDocumentsApartIsThePlannedOne) {
  const auto samples = packed_samples(runs_.settings.batch.seq_len);
  runs_.samples = runs_.valid = samples.get();
  for (const std::string layout : {"", "dp 2 pp 3 zero 3", "cp 2 tp 2", "pp 2 interleaved 2 recompute selective"}) {
    for (Lane& rank : run(layout)) {
      // Most positions and most targets may be of different microbatches.
      for (const char* use : {"activations", "total"}) {
        EXPECT_LE(rank.measured[use], rank.planned[use]) << layout;
        EXPECT_GE(static_cast<double>(rank.measured[use]), 0.9 * static_cast<double>(rank.planned[use])) << layout;
        rank.measured[use] = rank.planned[use];
      }
      EXPECT_EQ(rank.measured, rank.planned) << layout;
    }
  }
}

// Every microbatch has these lengths, and as many targets.
TEST_P(Memory, OfUnevenSamplesWithLossAtSomePositionsIsThePlannedOne) {
  const std::int64_t seq_len = runs_.settings.batch.seq_len;
  runs_.settings.data.shuffle = false;
  runs_.settings.train.resume = "never";
  runs_.settings.batch.micro_batch_size = 3;
  for (const std::vector<SampleShape>& microbatch : std::vector<std::vector<SampleShape>>{
           {{7, 3}, {seq_len, 1}, {2, 1}}, {{seq_len / 2, seq_len / 2}, {1, 1}, {5, 2}}, {{1, 1}, {1, 1}, {1, 1}}}) {
    const auto samples = samples_of(microbatch, seq_len);
    runs_.samples = samples.get();
    expect_as_planned({"", "dp 2 pp 2 zero 3", "dp 3", "dp 3 zero 2", "pp 4 zb-h1", "pp 2 interleaved 2", "pp 3 gpipe",
                       "recompute full", "pp 3 recompute selective", "tp 2", "bf16 dp 2", "bf16 pp 2 recompute full"});
  }
}

TEST_P(Memory, OfATrainingThatEvaluatesIsThePlannedOne) {
  const auto samples = samples_of_varied_lengths(runs_.folder("samples"), runs_.settings.batch.seq_len);
  runs_.valid = samples.get();
  runs_.settings.train.eval_every = 1;
  expect_as_planned({"", "dp 2 pp 2 zero 3", "pp 4 recompute full", "pp 2 interleaved 2", "bf16 dp 2 zero 3"});
}

TEST_P(Memory, OfARunThatTrainsSomeLayersIsThePlannedOne) {
  runs_.settings.train.resume = "never";
  runs_.settings.train.freeze = "embedding,head,1,4";
  expect_as_planned({"", "pp 4", "dp 2 pp 2 zero 3", "dp 2 zero 2", "recompute full", "pp 3 zb-h1 recompute selective",
                     "tp 2 cp 2 zero 1", "bf16 dp 2 zero 3 offload file"});
  runs_.settings.train.freeze.clear();
  runs_.settings.train.trainable_layers = 2;
  expect_as_planned({"pp 4", "dp 2 pp 3 zero 3 gpipe", "pp 2 interleaved 2", "bf16 pp 3 recompute full"});
}

TEST_P(Memory, OfARunWithAdaptersIsThePlannedOne) {
  config::Settings& s = runs_.settings;
  runs_.train("base", "");
  s.model.path = runs_.folder("base");
  s.train.resume = "never";
  s.lora.rank = 3;
  s.lora.dropout = 0.1;
  const auto samples = samples_of_varied_lengths(runs_.folder("samples"), s.batch.seq_len);
  runs_.valid = samples.get();
  expect_as_planned({"", "pp 4", "dp 2 pp 2 zero 3", "dp 2 zero 2", "recompute full", "pp 3 zb-h1 recompute selective",
                     "tp 2 cp 2 zero 1", "tp 3 plain", "bf16 dp 2 zero 3 offload file", "bf16 pp 2 recompute full"});
  s.lora.targets = "k_proj,down_proj";
  expect_as_planned({"dp 2 pp 2 zero 1", "bf16 recompute selective"});
}

TEST_P(Memory, OfGpt2IsThePlannedOne) {
  use_gpt2(&runs_.settings);
  runs_.settings.model.layers = 4;
  expect_as_planned({"pp 2", "dp 2 zero 3", "dp 2 pp 2 zero 2 zb-h1 recompute selective", "tp 2 cp 2 zero 3",
                     "tp 3 plain recompute full", "bf16 dp 2 zero 3 offload file"});
}

TEST_P(Memory, OfQwen2IsThePlannedOne) {
  use_qwen2(&runs_.settings);
  runs_.settings.model.layers = 3;
  expect_as_planned({"dp 2 zero 3", "tp 2 cp 2 zero 2", "tp 3 plain recompute selective", "bf16 pp 2 recompute full"});
}

TEST_P(Memory, OfGemmaIsThePlannedOne) {
  use_gemma(&runs_.settings);
  runs_.settings.model.layers = 3;
  expect_as_planned({"", "pp 3", "dp 2 zero 3", "tp 2 cp 2 zero 2", "tp 3 plain recompute selective", "pp 2 zb-h1 recompute full",
                     "bf16 dp 2 zero 3 offload file"});
}

TEST_P(Memory, OfLlamaIsThePlannedOne) {
  use_llama(&runs_.settings);
  runs_.settings.model.layers = 3;
  expect_as_planned({"dp 2 zero 3", "tp 2 cp 2 zero 2", "tp 3 plain recompute selective", "bf16 pp 2 recompute full"});
}

TEST_P(Memory, OfActivationsIsAtLeastThirtyPercentSmallerWithFullRecomputationAtTheSameLossBits) {
  runs_.settings.batch.seq_len = 128;
  const auto plain = run(""), full = run("recompute full"), selective = run("recompute selective");
  EXPECT_GT(plain[0].measured.at("activations"), plain[0].measured.at("parameters"));
  EXPECT_LE(full[0].measured.at("activations"), 0.7 * static_cast<double>(plain[0].measured.at("activations")));
  EXPECT_LE(selective[0].measured.at("activations"), 0.7 * static_cast<double>(plain[0].measured.at("activations")));
  const auto expected = rows("");
  for (const std::string layout : {"recompute full", "recompute selective"}) {
    const auto got = rows(layout);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].loss_bits, expected[i].loss_bits) << layout;
      EXPECT_EQ(got[i].grad_norm, expected[i].grad_norm) << layout;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Embeddings, Memory, testing::Values(true),
                         [](const auto& which) { return which.param ? "Tied" : "Untied"; });
INSTANTIATE_TEST_SUITE_P(FullEmbeddings, Memory, testing::Values(false),
                         [](const auto& which) { return which.param ? "Tied" : "Untied"; });

}  // namespace
}  // namespace troika::train
