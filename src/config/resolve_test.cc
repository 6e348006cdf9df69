#include "config/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "config/config_test_support.h"

namespace troika::config {
namespace {

using testing::HasSubstr;

TEST(Layout, DpIsWhatRemainsOfTheWorld) {
  EXPECT_EQ(resolved({}, 3).layout.dp, 3);
  EXPECT_EQ(resolved({"--pp", "2"}, 6).layout.dp, 3);
  EXPECT_EQ(resolved({"--pp", "2"}, 6).settings.parallel.dp, 3);
  EXPECT_EQ(resolved({"--dp", "2", "--pp", "2"}, 4).layout.world(), 4);
}

TEST(Layout, AWorldThatDoesNotFitIsToldWhatDoes) {
  EXPECT_EQ(resolve_error({"--pp", "2"}, 3),
            "parallel: pp 2 does not divide the world of 3 processes: start 2 or 4 processes, or set pp to 1 or 3");
  EXPECT_EQ(resolve_error({"--pp", "3"}, 1),
            "parallel: pp 3 does not divide the world of 1 process: start 3 processes (troika launch --nproc-per-node "
            "3 -- train ...),"
            " or set pp to 1");
  EXPECT_EQ(resolve_error({"--dp", "3"}, 4), "parallel: dp 3, but the world has 4 processes: start 3, or set dp to 4");
  EXPECT_EQ(resolve_error({"--dp", "2", "--pp", "3"}, 3),
            "parallel: dp 2 x pp 3 = 6, but the world has 3 processes: start 6, or set dp to 1");
}

TEST(Layout, AxesAndPrecisionsOutsideThisBuildAreRefused) {
  EXPECT_EQ(resolve_error({"--tp", "2"}, 2), "parallel.tp=2: this build trains with tp 1 only; use dp and pp");
  EXPECT_EQ(resolve_error({"--cp", "2"}, 2), "parallel.cp=2: this build trains with cp 1 only; use dp and pp");
  EXPECT_EQ(resolve_error({"--bf16"}, 1), "precision.compute=bf16: this build computes in fp32 only; leave it out");
}

TEST(Model, ShapesThatCannotBeAreRefused) {
  EXPECT_EQ(resolve_error({"--model.heads", "5"}, 1),
            "model.heads 5 is not a multiple of model.kv_heads 2: 4 and 6 are the nearest that are");
  EXPECT_THAT(resolve_error({"--model.head-dim", "15"}, 1), HasSubstr("14 and 16 are the nearest that are"));
  EXPECT_THAT(resolve_error({"--pp", "5"}, 5),
              HasSubstr("parallel.pp 5 is more than the model's 4 transformer layers"));
  EXPECT_THAT(resolve_error({"--pp", "3", "--middle_layers", "2"}, 3), HasSubstr("pp is at most 2"));
  EXPECT_THAT(resolve_error({"--middle_layers", "5"}, 1), HasSubstr("at most 4 can be kept"));
  EXPECT_THAT(resolve_error({"--seq-len", "50000"}, 1), HasSubstr("model.max_positions 40960"));
}

TEST(Model, MiddleLayersBecomesLayers) {
  const Resolved run = resolved({"--middle_layers", "2"}, 1);
  EXPECT_EQ(run.settings.model.layers, 2);
  EXPECT_EQ(run.settings.model.middle_layers, 0);
}

TEST(Model, StageLayersMatchTheStages) {
  EXPECT_EQ(resolved({"--pp", "2", "--parallel.stage-layers", "3,1"}, 2).settings.parallel.stage_layers.size(), 2u);
  EXPECT_THAT(resolve_error({"--pp", "2", "--parallel.stage-layers", "3,2"}, 2),
              HasSubstr("sums to 5, but the model has 4"));
  EXPECT_THAT(resolve_error({"--pp", "2", "--parallel.stage-layers", "4"}, 2), HasSubstr("has 1 entries, but pp is 2"));
}

TEST(Run, NumbersThatContradictAreRefused) {
  EXPECT_THAT(resolve_error({"--warmup_steps", "6", "--steps", "5"}, 1),
              HasSubstr("optimizer.warmup_steps 6 is more than"));
  EXPECT_EQ(resolved({"--warmup_steps", "6"}, 1).settings.optimizer.warmup_steps, 6);
  EXPECT_THAT(resolve_error({"--profile_batch", "3-1"}, 1), HasSubstr("train.profile takes all, a step such as 3"));
  EXPECT_THAT(resolve_error({"--device", "gpu"}, 1),
              HasSubstr("train.device takes auto, cpu, cuda or cuda:N, not 'gpu'"));
  EXPECT_EQ(resolved({"--device", "cuda:1"}, 1).settings.train.device, "cuda:1");
  EXPECT_THAT(parse_error({"--backend", "nccl"}), HasSubstr("gloo"));
  EXPECT_THAT(resolve_error({"--out", ""}, 1), HasSubstr("train.out is empty"));
  EXPECT_THAT(parse_error({"--checkpoint.keep", "0"}), HasSubstr("--checkpoint.keep must be at least 1, not 0"));
}

TEST(Run, ADefaultMinimumFollowsASmallLearningRate) {
  const Resolved run = resolved({"--lr", "1e-5"}, 1);
  EXPECT_DOUBLE_EQ(run.settings.optimizer.min_lr, 1e-6);
  EXPECT_EQ(run.notes.size(), 1u);
  EXPECT_THAT(resolve_error({"--lr", "1e-5", "--optimizer.min-lr", "1e-4"}, 1), HasSubstr("is above optimizer.lr"));
}

TEST(Resolve, ReportsEverythingTogether) {
  const std::string text = resolve_error({"--tp", "2", "--bf16", "--model.heads", "5", "--warmup_steps", "9", "--steps",
                                          "3", "--batch_size", "10", "--num_microbatches", "4", "--profile", "x"},
                                         2);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
}

TEST(Resolve, ChecksSingleValuesOfSettingsBuiltInCode) {
  Settings s;
  s.model.layers = 0;
  s.parallel.schedule = "none";
  EXPECT_EQ(config_error([&] { resolve(s, 1); }),
            "model.layers must be at least 1, not 0\nparallel.schedule takes gpipe or 1f1b, not 'none'");
}

TEST(Resolve, IsItsOwnFixedPoint) {
  for (const std::int64_t world : {1, 2, 3, 6}) {
    const Resolved once = resolved({"--batch_size", "7", "--gradient_accumulation_steps", "2", "--lr", "1e-6"}, world);
    const Resolved twice = resolve(once.settings, world);
    EXPECT_EQ(to_yaml(twice.settings), to_yaml(once.settings));
    EXPECT_EQ(twice.batch.global, once.batch.global);
  }
}

TEST(Agreement, DiffersOnlyWhereItMatters) {
  const Settings base = resolved({}, 2).settings;
  Settings other = base;
  other.train.out = "elsewhere";
  other.train.threads = 3;
  other.data.train = "other/path";
  other.comm.interface = "eth7";
  other.log.level = "debug";
  EXPECT_EQ(agreement_hash(base), agreement_hash(other));
  EXPECT_EQ(first_difference(to_yaml(base), to_yaml(other)), "");
  other.optimizer.weight_decay = 0.2;
  other.train.steps = 9;
  EXPECT_NE(agreement_hash(base), agreement_hash(other));
  EXPECT_EQ(first_difference(to_yaml(base), to_yaml(other)), "optimizer.weight_decay");
  EXPECT_EQ(agreement_hash(base).size(), 16u);
}

TEST(Agreement, TwoSpellingsOfOneRunAgree) {
  EXPECT_EQ(
      agreement_hash(resolved({"--batch_size", "8", "--num_microbatches", "4"}, 2).settings),
      agreement_hash(resolved({"--micro-batch-size", "2", "--global-batch-size", "16", "--dp", "2"}, 2).settings));
}

}  // namespace
}  // namespace troika::config
