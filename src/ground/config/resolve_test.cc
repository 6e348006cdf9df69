#include "config/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/temporary_folder_test_support.h"
#include "base/text.h"
#include "config/config_test_support.h"

namespace troika::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Out, IsNotTheFolderOfTheData) {
  const base::TemporaryFolder folder;
  const std::string texts = folder.path();
  for (const std::string& data : {texts, texts + "/./", "a.txt, " + texts})
    EXPECT_THAT(resolve_error({"--data.train", data, "--out", texts}, 1),
                HasSubstr("train.out is '" + texts + "', which is also the folder of data.train"));
  EXPECT_THAT(resolve_error({"--data.train", "a.txt", "--data.valid", ".", "--out", "."}, 1),
              HasSubstr("also the folder of data.valid"));
  EXPECT_EQ(resolved({"--data.train", "texts", "--out", "texts/run"}, 1).settings.train.out, "texts/run");
}

TEST(Layout, DpIsWhatRemainsOfTheWorld) {
  EXPECT_EQ(resolved({}, 3).settings.parallel.dp, 3);
  EXPECT_EQ(resolved({"--pp", "2"}, 6).settings.parallel.dp, 3);
  EXPECT_EQ(resolved({"--pp", "2"}, 6).settings.parallel.dp, 3);
  EXPECT_EQ(resolved({"--dp", "2", "--pp", "2"}, 4).settings.parallel.world(), 4);
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

TEST(Layout, AnAxisThatNeedsMoreProcessesIsToldInOneSentence) {
  EXPECT_EQ(resolve_error({"--tp", "2"}, 1),
            "parallel: tp 2 does not divide the world of 1 process: start 2 processes (troika launch --nproc-per-node "
            "2 -- train ...)");
  EXPECT_EQ(resolve_error({"--cp", "3"}, 4),
            "parallel: cp 3 does not divide the world of 4 processes: start 3 or 6 processes");
  EXPECT_EQ(resolve_error({"--pp", "3", "--tp", "2"}, 4),
            "parallel: pp 3 x tp 2 does not divide the world of 4 processes: start 6 processes, or set pp to 1 or 2");
}

TEST(Layout, AllFourAxesMakeTheWorld) {
  const Resolved run = resolved({"--pp", "2", "--tp_size", "2", "--cp", "2"}, 16);
  EXPECT_EQ(run.settings.parallel.dp, 2);
  EXPECT_EQ(run.settings.parallel.world(), 16);
  EXPECT_TRUE(run.notes.empty());
}

TEST(Layout, TensorParallelRanksNeedAPartOfEverySplitDim) {
  EXPECT_EQ(resolved({"--tp", "3"}, 3).settings.parallel.tp, 3) << "uneven parts are parts";
  EXPECT_EQ(resolve_error({"--tp", "5"}, 5),
            "parallel.tp 5 is more than model.heads 4: each tensor-parallel rank needs a query head, so tp is at most "
            "4");
  EXPECT_THAT(resolve_error({"--tp", "4", "--model.ffn", "3"}, 4), HasSubstr("model.ffn 3: each"));
  EXPECT_THAT(resolve_error({"--tp", "4", "--model.vocab", "2"}, 4),
              HasSubstr("needs a row of the vocabulary, so tp is at most 2"));
}

TEST(Layout, ContextParallelRanksNeedTwoPositionsEach) {
  EXPECT_EQ(resolved({"--cp", "4", "--seq-len", "9"}, 4).settings.parallel.cp, 4);
  EXPECT_EQ(resolve_error({"--cp", "4", "--seq-len", "7"}, 4),
            "batch.seq_len 7 is too short for parallel.cp 4: each context-parallel rank takes 2 pieces of a sequence, "
            "so seq_len is at least 8, or cp at most 3");
}

TEST(Layout, EqualBitsRefuseWhatSplitsSums) {
  EXPECT_EQ(resolve_error({"--tp", "2", "--parallel.reproducible", "bits"}, 2),
            "parallel.reproducible=bits does not allow tp 2: sums split over these ranks have different bits; set tp and cp to 1, or reproducible to run");
  EXPECT_THAT(resolve_error({"--tp", "2", "--cp", "2", "--parallel.reproducible", "bits"}, 4),
              HasSubstr("does not allow tp 2 x cp 2: "));
  EXPECT_EQ(resolved({"--pp", "2", "--zero", "3", "--parallel.reproducible", "bits"}, 4).settings.parallel.dp, 2);
}

TEST(Layout, WhatChangesNothingIsNoted) {
  EXPECT_THAT(in_english(resolved({"--zero_stage", "2"}, 1).notes),
              testing::ElementsAre("parallel.zero 2 shards nothing, because dp x cp is 1"));
  EXPECT_TRUE(resolved({"--zero", "2"}, 2).notes.empty());
  EXPECT_TRUE(resolved({"--zero", "2", "--cp", "2"}, 2).notes.empty());
  EXPECT_THAT(in_english(resolved({"--offload", "host", "--device", "cpu"}, 1).notes),
              testing::ElementsAre(HasSubstr("offload host has no effect")));
  EXPECT_TRUE(resolved({"--offload", "file", "--device", "cpu"}, 1).notes.empty());
  EXPECT_THAT(in_english(resolved({"--parallel.offload-folder", "x"}, 1).notes),
              testing::ElementsAre("parallel.offload_folder is not used, because offload is none"));
  EXPECT_THAT(parse_error({"--zero", "4"}), HasSubstr("parallel.zero must be at most 3, not 4"));
}

TEST(Model, ShapesThatCannotBeAreRefused) {
  EXPECT_EQ(resolve_error({"--model.heads", "5"}, 1),
            "model.heads 5 is not a multiple of model.kv_heads 2: 4 and 6 are the nearest multiples");
  EXPECT_THAT(resolve_error({"--model.head-dim", "15"}, 1), HasSubstr("14 and 16 are the nearest multiples"));
  EXPECT_THAT(resolve_error({"--pp", "5"}, 5),
              HasSubstr("parallel.pp 5 is more than the model's 4 transformer layers"));
  EXPECT_THAT(resolve_error({"--pp", "3", "--middle_layers", "2"}, 3), HasSubstr("pp is at most 2"));
  EXPECT_THAT(resolve_error({"--middle_layers", "5"}, 1), HasSubstr("at most 4 can be kept"));
  EXPECT_THAT(resolve_error({"--seq-len", "50000"}, 1), HasSubstr("model.max_positions 40960"));
}

TEST(Model, ShapesThatGpt2CannotHaveAreRefused) {
  const auto error = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--model.preset", "gpt2-tiny"});
    return resolve_error(arguments, 1);
  };
  EXPECT_EQ(error({"--model.kv-heads", "2"}),
            "model.kv_heads 2 is not model.heads 4: gpt2 has a key and a value head for every query head, so set kv_heads to 4, or use a preset such as gpt2-124m");
  EXPECT_EQ(error({"--model.hidden", "250"}),
            "model.heads 4 x model.head_dim 64 is 256, but model.hidden is 250: gpt2 splits its hidden size into heads, so set hidden to 256");
  EXPECT_EQ(error({"--seq-len", "1025"}),
            "batch.seq_len 1025 is more than model.max_positions 1024: at most 1024, or raise max_positions");
  EXPECT_EQ(resolved({"--model.preset", "gpt2", "--seq-len", "1024"}, 1).settings.model.preset, "gpt2-124m");
}

TEST(Model, SizesOfAGpt2WithoutAPresetFollowFromItsWidthAndHeads) {
  const auto model =
      resolved({"--model.architecture", "gpt2", "--model.hidden", "1024", "--model.heads", "8"}, 1).settings.model;
  EXPECT_EQ(model.kv_heads, 8);
  EXPECT_EQ(model.head_dim, 128);
  EXPECT_EQ(model.ffn, 4096);
  EXPECT_THAT(resolve_error({"--model.architecture", "gpt2", "--model.kv-heads", "2"}, 1),
              HasSubstr("set kv_heads to 4"));
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
  EXPECT_THAT(resolve_error({"--pp", "2", "--parallel.stage-layers", "4"}, 2),
              HasSubstr("has 1 entry, but there are 2 stages (pp 2): give one entry per stage"));
  EXPECT_THAT(resolve_error({"--pp", "2", "--virtual-stages", "2", "--parallel.stage-layers", "2,2"}, 2),
              HasSubstr("has 2 entries, but there are 4 stages (pp 2 x virtual_stages 2)"));
}

TEST(Run, TheLossScaleBelongsToFp16) {
  EXPECT_TRUE(resolved({"--bf16"}, 1).notes.empty());
  EXPECT_TRUE(resolved({"--fp16", "--precision.loss-scale", "1024"}, 1).notes.empty());
  EXPECT_THAT(in_english(resolved({"--bf16", "--precision.loss-scale", "1024"}, 1).notes),
              testing::ElementsAre("the loss scale is not used, because precision.compute is bf16"));
  EXPECT_EQ(resolve_error({"--fp16", "--precision.loss-scale", "2", "--precision.loss-scale-min", "4"}, 1),
            "precision.loss_scale 2 is below precision.loss_scale_min 4: at least 4");
}

TEST(Run, NumbersThatContradictAreRefused) {
  EXPECT_THAT(resolve_error({"--warmup_steps", "6", "--steps", "5"}, 1),
              HasSubstr("optimizer.warmup_steps 6 is more than"));
  EXPECT_EQ(resolved({"--warmup_steps", "6"}, 1).settings.optimizer.warmup_steps, 6);
  EXPECT_THAT(resolve_error({"--profile_batch", "3-1"}, 1), HasSubstr("train.profile takes all, a step such as 3"));
  EXPECT_THAT(resolve_error({"--device", "gpu"}, 1),
              HasSubstr("train.device takes auto, cpu, cuda or cuda:N, not 'gpu'"));
  EXPECT_EQ(resolved({"--device", "cuda:1"}, 1).settings.train.device, "cuda:1");
  EXPECT_THAT(parse_error({"--backend", "mpi"}), HasSubstr("gloo"));
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
  const std::string text = resolve_error({"--tp",       "7",     "--pp",          "5",  "--virtual-stages",   "2",
                                          "--schedule", "gpipe", "--model.heads", "5",  "--warmup_steps",     "9",
                                          "--steps",    "3",     "--batch_size",  "10", "--num_microbatches", "4",
                                          "--profile",  "x"},
                                         2);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6) << text;
}

TEST(Resolve, FamiliesWithRotaryPositionsHaveEvenHeadsInGroups) {
  for (const char* family : {"qwen3", "qwen2", "llama", "mistral"}) {
    EXPECT_THAT(resolve_error({"--model.architecture", family, "--model.heads", "5", "--model.head-dim", "63"}, 1),
                AllOf(HasSubstr("model.heads 5 is not a multiple"), HasSubstr("model.head_dim 63 is odd")))
        << family;
  }
}

TEST(Resolve, ScaledRotaryFrequenciesNeedRotaryPositionsAndBoundsInOrder) {
  EXPECT_THAT(resolve_error({"--model.preset", "gpt2-tiny", "--model.rope-scaling", "linear"}, 1),
              HasSubstr("model.rope_scaling linear needs RoPE"));
  EXPECT_THAT(resolve_error({"--model.rope-scaling", "llama3", "--model.rope-low-freq-factor", "4"}, 1),
              HasSubstr("model.rope_low_freq_factor 4 is not below model.rope_high_freq_factor 4"));
  EXPECT_EQ(resolved({"--model.preset", "llama3-1b"}, 1).settings.model.rope_factor, 32);
}

TEST(Resolve, NotesSettingsOfRotaryPositionsThatAreNotLookedAt) {
  const auto notes = [](const std::vector<std::string>& arguments) {
    return base::join(in_english(resolved(arguments, 1).notes), "; ");
  };
  EXPECT_EQ(notes({"--model.rope-factor", "4", "--model.rope-original-positions", "100"}),
            "model.rope_factor, model.rope_original_positions have no effect with model.architecture qwen3 and "
            "model.rope_scaling none");
  EXPECT_EQ(notes({"--model.rope-factor", "4", "--model.rope-scaling", "linear"}), "");
  EXPECT_EQ(notes({"--model.preset", "gpt2-tiny", "--model.rope-theta", "100"}),
            "model.rope_theta has no effect with model.architecture gpt2 and model.rope_scaling none");
  for (const char* preset : {"llama3.1-8b", "qwen2.5-7b", "mistral-7b", "gpt2-124m"})
    EXPECT_EQ(notes({"--model.preset", preset}), "") << preset;
}

TEST(Resolve, ChecksSingleValuesOfSettingsBuiltInCode) {
  Settings s;
  s.model.layers = 0;
  s.train.epochs = 0;
  EXPECT_EQ(config_error([&] { resolve(s, 1); }),
            "model.layers must be at least 1, not 0\ntrain.epochs must be above 0, not 0");
}

TEST(Resolve, IsItsOwnFixedPoint) {
  const std::vector<std::vector<std::string>> layouts = {
      {},
      {"--zero", "3", "--offload", "host", "--device", "cpu"},
      {"--pp", "2", "--virtual-stages", "2"},
      {"--pp", "2", "--schedule", "interleaved"},
      {"--pp", "2", "--schedule_file", "x", "--virtual-stages", "2"},
      {"--tp", "2", "--fp16", "--parallel.stage-costs", "1,2,2,2,2,3"}};
  for (const std::int64_t world : {2, 4, 6}) {
    for (auto arguments : layouts) {
      arguments.insert(arguments.end(), {"--batch_size", "7", "--gradient_accumulation_steps", "2", "--lr", "1e-6"});
      const Resolved once = resolved(arguments, world);
      const Resolved twice = resolve(once.settings, world);
      EXPECT_EQ(to_yaml(twice.settings), to_yaml(once.settings));
      EXPECT_EQ(to_yaml(settings_from_yaml(to_yaml(once.settings), "printed")), to_yaml(once.settings));
      EXPECT_EQ(twice.batch.global, once.batch.global);
    }
  }
}

TEST(Agreement, DiffersOnlyWhereItMatters) {
  const Settings base = resolved({}, 2).settings;
  Settings other = base;
  other.train.out = "elsewhere";
  other.train.threads = 3;
  other.data.train = "other/path";
  other.comm.interface = "eth7";
  other.log.level = LogLevel::debug;
  other.parallel.schedule_file = "elsewhere.program";
  other.parallel.offload_folder = "fast/disk";
  EXPECT_EQ(agreement_yaml(base), agreement_yaml(other));
  EXPECT_EQ(agreement_hash(base), agreement_hash(other));
  EXPECT_EQ(first_difference(to_yaml(base), to_yaml(other)), "");
  other.optimizer.weight_decay = 0.2;
  other.train.steps = 9;
  EXPECT_NE(agreement_hash(base), agreement_hash(other));
  EXPECT_NE(agreement_yaml(other).find("\n  steps: 9\n"), std::string::npos);  // as a rank that differs is told
  EXPECT_EQ(first_difference(to_yaml(base), to_yaml(other)), "optimizer.weight_decay");
  EXPECT_EQ(agreement_hash(base).size(), 16u);
}

TEST(Agreement, TwoSpellingsOfOneRunAgree) {
  EXPECT_EQ(
      agreement_hash(resolved({"--batch_size", "8", "--num_microbatches", "4"}, 2).settings),
      agreement_hash(resolved({"--micro-batch-size", "2", "--global-batch-size", "16", "--dp", "2"}, 2).settings));
}

TEST(Resolve, EarlyStoppingNeedsEvaluations) {
  const std::vector<std::string> patient = {"--early-stopping-patience", "3"};
  EXPECT_THAT(resolve_error(patient, 1), testing::HasSubstr("train.early_stopping_patience 3 needs a validation set"));
  EXPECT_THAT(resolve_error({"--early-stopping-patience", "3", "--data.valid", "v"}, 1),
              testing::HasSubstr("there is only one, at the end: set train.eval_every"));
  EXPECT_NO_THROW(resolved({"--early-stopping-patience", "3", "--data.valid-share", "0.1", "--eval-every", "2"}, 1));
}

TEST(Resolve, WhatHasNoEffectIsNoted) {
  const auto notes = [](const std::vector<std::string>& words) { return base::join(in_english(resolved(words, 1).notes), "\n"); };
  EXPECT_THAT(notes({"--eval-every", "5"}), testing::HasSubstr("train.eval_every 5 has no effect: there is nothing"));
  EXPECT_THAT(notes({"--early-stopping-threshold", "1"}), HasSubstr("early_stopping_threshold has no effect"));
  EXPECT_THAT(notes({"--decay-steps", "5", "--optimizer.decay", "sqrt"}),
              HasSubstr("optimizer.decay_steps, optimizer.decay have no effect with optimizer.lr_schedule cosine"));
  EXPECT_EQ(notes({"--optimizer.lr-schedule", "wsd", "--decay-steps", "5"}), "");
  EXPECT_THAT(resolve_error({"--lr-scheduler-type", "wsd", "--steps=9", "--warmup-steps=5", "--decay-steps=5"}, 1),
              testing::HasSubstr("optimizer.warmup_steps 5 and optimizer.decay_steps 5 sum to more than train.steps 9"));
  EXPECT_THAT(resolve_error({"--optimizer.lr-schedule", "wsd", "--warmup-ratio", "0.6", "--decay-ratio", "0.5"}, 1),
              testing::HasSubstr("sum to more than 1"));
}

}  // namespace

namespace {

TEST(Profile, RecordsTheStepsNamed) {
  EXPECT_FALSE(is_profiled("", 1));
  EXPECT_TRUE(is_profiled("all", 1));
  EXPECT_TRUE(is_profiled("all", 123456789));
  EXPECT_TRUE(is_profiled("3", 3));
  EXPECT_FALSE(is_profiled("3", 30));
  for (const std::int64_t step : {2, 5, 6, 7}) EXPECT_TRUE(is_profiled("2,5-7", step)) << step;
  for (const std::int64_t step : {1, 3, 4, 8}) EXPECT_FALSE(is_profiled("2,5-7", step)) << step;
}

TEST(Profile, RefusesWhatIsNeitherStepNorRange) {
  for (const auto* good : {"", "all", "0", "3", "2,5-7", "2, 5-7"}) EXPECT_TRUE(is_profile(good)) << good;
  for (const auto* bad : {"every", "3-", "-3", "7-5", "1,,2", "1;2", "1-2-3", ","}) {
    EXPECT_FALSE(is_profile(bad)) << bad;
    EXPECT_FALSE(is_profiled(bad, 3)) << bad;
  }
}

}  // namespace

}  // namespace troika::config
