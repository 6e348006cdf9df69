#include "config/import/llama_factory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "base/text.h"
#include "config/config_test_support.h"
#include "config/spellings.h"

namespace troika::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The head of LLaMA-Factory's examples, without the model: its folder would be read_factory.
const std::string factory_head = "stage: sft\ndo_train: true\nfinetuning_type: full\ndataset: identity, alpaca_en\n";

std::string file(const std::string& text) { return temporary_file("factory.yaml", text); }

ParsedSettings read_factory(const std::string& text, std::vector<std::string> more = {}) {
  more.insert(more.begin(), file(text));
  return parse_settings(more, {});
}

std::string factory_error(const std::string& text) {
  return config_error([&] { read_factory(text); });
}

std::string factory_notes(const std::string& text) { return base::join(in_english(read_factory(text).notes), "\n"); }

TEST(LlamaFactory, AFileOfItRunsAsItIs) {
  const Settings s =
      read_factory(
          factory_head +
          "trust_remote_code: true\ntemplate: qwen3\ncutoff_len: 1024\nmax_samples: 1000\noverwrite_cache: true\n"
          "preprocessing_num_workers: 16\ndataloader_num_workers: 4\noutput_dir: saves/x\nlogging_steps: 10\n"
          "save_steps: 200\nplot_loss: true\noverwrite_output_dir: true\nsave_only_model: false\nreport_to: none\n"
          "per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nlearning_rate: 1.0e-4\n"
          "num_train_epochs: 2.0\nlr_scheduler_type: cosine\nwarmup_ratio: 0.1\nbf16: true\nddp_timeout: 180000000\n"
          "resume_from_checkpoint: null\nval_size: 0.1\nper_device_eval_batch_size: 1\neval_strategy: steps\n"
          "eval_steps: 500\n")
          .settings;
  EXPECT_EQ(s.data.train, "identity,alpaca_en");
  EXPECT_EQ(s.data.folder, "data");
  EXPECT_EQ(s.data.workers, 16);
  EXPECT_EQ(s.data.max_samples, 1000);
  EXPECT_EQ(s.data.valid_share, 0.1);
  EXPECT_EQ(s.batch.seq_len, 1024);
  EXPECT_EQ(s.batch.micro_batch_size, 1);
  EXPECT_EQ(s.batch.accumulation, 8);
  EXPECT_EQ(s.optimizer.lr, 1e-4);
  EXPECT_EQ(s.optimizer.lr_schedule, LrSchedule::cosine);
  EXPECT_EQ(s.optimizer.warmup_ratio, 0.1);
  EXPECT_EQ(s.train.epochs, 2);
  EXPECT_EQ(s.train.out, "saves/x");
  EXPECT_EQ(s.train.resume, "never");
  EXPECT_EQ(s.train.eval_every, 500);
  EXPECT_EQ(s.checkpoint.every, 200);
  EXPECT_EQ(s.precision.compute, Precision::bf16);
  EXPECT_EQ(s.lora.rank, 0);
  EXPECT_EQ(resolve(s, 2).batch.global, 16);
}

TEST(LlamaFactory, WhatTheFileLeavesOutHasItsDefaultsAndOneNoteSaysSo) {
  const ParsedSettings parsed = read_factory(factory_head);
  const Settings& s = parsed.settings;
  EXPECT_EQ(s.batch.seq_len, 2048);
  EXPECT_EQ(s.batch.micro_batch_size, 8);
  EXPECT_EQ(s.parallel.recompute, Recompute::full);
  EXPECT_EQ(s.optimizer.lr, 5e-5);
  EXPECT_EQ(s.optimizer.min_lr, 0);
  EXPECT_EQ(s.optimizer.beta2, 0.999);
  EXPECT_EQ(s.optimizer.weight_decay, 0);
  EXPECT_EQ(s.optimizer.clip_norm, 1);
  EXPECT_EQ(s.optimizer.lr_schedule, LrSchedule::linear);
  EXPECT_EQ(s.train.epochs, 3);
  EXPECT_EQ(s.train.seed, 42u);
  EXPECT_EQ(s.train.resume, "auto");
  EXPECT_EQ(s.checkpoint.every, 500);
  EXPECT_FALSE(s.data.packing);
  EXPECT_FALSE(s.data.dedup);
  ASSERT_EQ(parsed.notes.size(), 2u);
  EXPECT_THAT(parsed.notes[0].english, AllOf(HasSubstr("keys it omits have LLaMA-Factory's defaults"), HasSubstr("batch.seq_len 2048, "),
                                     HasSubstr("checkpoint.keep 1000000"), Not(HasSubstr("train.out"))));
  EXPECT_THAT(parsed.notes[1].english, HasSubstr("have no effect here (docs/llama-factory.md): do_train"));
}

TEST(LlamaFactory, KeysWithoutEffectAreOneNote) {
  EXPECT_THAT(factory_notes(factory_head + "plot_loss: true\nswanlab_mode: cloud\nhf_hub_token: geheim\n"),
              AllOf(HasSubstr(": do_train, plot_loss, swanlab_mode, hf_hub_token"), Not(HasSubstr("geheim"))));
}

TEST(LlamaFactory, ReportToIsForTensorboard) {
  EXPECT_EQ(read_factory(factory_head + "report_to: tensorboard\n").settings.log.tensorboard, "on");
  EXPECT_EQ(read_factory(factory_head + "report_to: [tensorboard, wandb]\nlogging_dir: tb\n").settings.log.tensorboard,
            "tb");
  const std::string wandb = factory_head + "report_to: wandb\nlogging_dir: tb\n";
  EXPECT_EQ(read_factory(wandb).settings.log.tensorboard, "off");
  EXPECT_THAT(factory_notes(wandb), AllOf(HasSubstr("report_to"), HasSubstr("logging_dir")));
}

TEST(LlamaFactory, HigherPlacesStillWin) {
  const Settings s =
      read_factory(factory_head + "learning_rate: 1e-4\n", {"--lr", "3e-4", "--cutoff_len", "64", "--tp_size", "2"})
          .settings;
  EXPECT_EQ(s.optimizer.lr, 3e-4);
  EXPECT_EQ(s.batch.seq_len, 64);
  EXPECT_EQ(s.parallel.tp, 2);
}

TEST(LlamaFactory, SectionsOfOurOwnMayStandBesideItsKeys) {
  const Settings s =
      read_factory(factory_head + "parallel: {pp: 2}\nmodel: {preset: small}\ntrain: {seed: 9}\ntp_size: 2\n").settings;
  EXPECT_EQ(s.parallel.pp, 2);
  EXPECT_EQ(s.parallel.tp, 2);
  EXPECT_EQ(s.model.preset, "qwen3-small");
  EXPECT_EQ(s.train.seed, 9u);
  EXPECT_EQ(s.batch.seq_len, 2048);
}

TEST(LlamaFactory, UnknownKeysGetTheNearestNameAndRefusedOnesTheReason) {
  const std::string errors =
      factory_error(factory_head + "cutof_len: 3\nuse_dora: true\nquantization_bit: 4\nuse_rslora: false\n");
  EXPECT_THAT(errors, AllOf(HasSubstr("line 5: unknown key 'cutof_len'; did you mean cutoff_len?"),
                            HasSubstr("line 6: use_dora is not supported: only plain LoRA adapters"),
                            HasSubstr("line 7: quantization_bit is not supported: weights are not quantized"),
                            Not(HasSubstr("use_rslora"))));
  EXPECT_THAT(factory_error(factory_head + "stage: pt\n"), HasSubstr("stage is given twice, first in "));
}

TEST(LlamaFactory, StagesThatAreNotSupportedAreRefusedByName) {
  for (const char* stage : {"dpo", "kto", "ppo", "rm"})
    EXPECT_THAT(factory_error(std::string("stage: ") + stage + "\nfinetuning_type: full\n"),
                HasSubstr(std::string("line 1: stage ") + stage + " trains on preferences, which is not supported"));
  EXPECT_THAT(factory_error("stage: sfd\nfinetuning_type: full\n"),
              HasSubstr("stage takes sft, pt, not 'sfd'; did you mean sft?"));
}

TEST(LlamaFactory, PretrainingReadsDocumentsAndNeedsNoPacking) {
  const ParsedSettings parsed =
      read_factory("stage: pt\nfinetuning_type: full\ndataset: c4\npacking: true\ntemplate: qwen\n");
  EXPECT_EQ(parsed.settings.data.format, DataFormat::text);
  EXPECT_FALSE(parsed.settings.data.packing);
  EXPECT_THAT(parsed.notes.back().english, HasSubstr("packing"));
}

TEST(LlamaFactory, LoraIsTheMethodOfAFileThatNamesNone) {
  const Settings s =
      read_factory("stage: sft\nlora_alpha: 32\nlora_dropout: 0.1\nlora_target: q_proj,v_proj\n").settings;
  EXPECT_EQ(s.lora.rank, 8);
  EXPECT_EQ(s.lora.alpha, 32);
  EXPECT_EQ(s.lora.dropout, 0.1);
  EXPECT_EQ(s.lora.targets, "q_proj,v_proj");
  EXPECT_EQ(read_factory("stage: sft\nfinetuning_type: lora\nlora_rank: 16\n").settings.lora.rank, 16);
  EXPECT_EQ(read_factory(factory_head + "lora_rank: 16\n").settings.lora.rank, 0);
  EXPECT_THAT(factory_notes(factory_head + "lora_rank: 16\n"), HasSubstr("do_train, lora_rank"));
  EXPECT_THAT(factory_error("finetuning_type: oft\n"),
              HasSubstr("finetuning_type takes full, freeze, lora, not 'oft'"));
}

TEST(LlamaFactory, RankStabilisedAdaptersAreASetting) {
  EXPECT_TRUE(read_factory("stage: sft\nuse_rslora: true\n").settings.lora.rslora);
  EXPECT_FALSE(read_factory("stage: sft\nuse_rslora: false\n").settings.lora.rslora);
  EXPECT_FALSE(read_factory(factory_head + "use_rslora: true\n").settings.lora.rslora) << "with finetuning_type full";
}

TEST(LlamaFactory, AnAdapterGoesOnWithTheNumbersOfItsFolder) {
  const std::string folder = file("") + "-adapter";
  base::make_directories(folder);
  base::write_file_atomic(folder + "/adapter_config.json",
                          R"({"peft_type": "LORA", "r": 4, "lora_alpha": 12, "target_modules": ["v_proj", "q_proj"]})");
  const std::string text = "stage: sft\nfinetuning_type: lora\nadapter_name_or_path: " + folder + "\n";
  const Settings s = read_factory(text).settings;
  EXPECT_EQ(s.lora.path, folder);
  EXPECT_EQ(s.lora.rank, 4);
  EXPECT_EQ(s.lora.alpha, 12);
  EXPECT_EQ(s.lora.targets, "q_proj,v_proj");
  EXPECT_EQ(read_factory(text + "lora_rank: 4\nlora_target: v_proj,q_proj\n").settings.lora.rank, 4);
  EXPECT_THAT(factory_error(text + "lora_rank: 8\n"), HasSubstr("contradicts 4 in " + folder + "/adapter_config.json"));
  EXPECT_THAT(factory_error(factory_head + "adapter_name_or_path: a\n"),
              HasSubstr("goes with finetuning_type lora, not full"));
  EXPECT_THAT(factory_error("stage: sft\nadapter_name_or_path: a,b\n"), HasSubstr("names several folders"));
  base::remove_tree(folder);
}

TEST(LlamaFactory, AnAdapterThatIsARunGoesOnWithItsNumbers) {
  const std::string folder = file("") + "-run";
  base::make_directories(folder + "/checkpoints/step-00000002/model");
  base::write_file_atomic(folder + "/checkpoints/step-00000002/manifest.json",
                          R"({"format": "troika-checkpoint",
                              "settings_yaml": "lora: {rank: 3, alpha: 5, targets: q_proj}"})");
  const std::string text = "stage: sft\nadapter_name_or_path: " + folder;
  for (const char* below : {"\n", "/checkpoints/step-00000002\n", "/checkpoints/step-00000002/model\n"}) {
    const Settings s = read_factory(text + below).settings;
    EXPECT_EQ(s.lora.rank, 3);
    EXPECT_EQ(s.lora.alpha, 5);
    EXPECT_EQ(s.lora.targets, "q_proj");
  }
  base::remove_tree(folder);
}

TEST(LlamaFactory, TwoKeysThatGiveOneSettingDifferentValuesAreAnError) {
  EXPECT_THAT(
      factory_error(factory_head + "bf16: true\nfp16: true\n"),
      AllOf(HasSubstr("precision.compute is given twice, as fp16 here and first as bf16 in"), HasSubstr("line 5")));
  EXPECT_THAT(factory_error(factory_head + "per_device_train_batch_size: 1\nmicro_batch_size: 2\n"),
              HasSubstr("is given twice"));
  EXPECT_THAT(factory_error("stage: sft\nlora_rank: 4\nlora: {rank: 8}\n"), HasSubstr("lora.rank is given twice"));
  EXPECT_EQ(read_factory("stage: sft\nlora: {rank: 16}\nbatch: {micro_batch_size: 3}\n").settings.lora.rank, 16);
  EXPECT_EQ(read_factory(factory_head + "bf16: true\nprecision: {compute: bf16}\n").settings.precision.compute,
            Precision::bf16);
}

TEST(LlamaFactory, FreezeTrainsTheLastLayers) {
  EXPECT_THAT(factory_error("finetuning_type: freeze\nfreeze_trainable_layers: 0\n"),
              HasSubstr("freeze_trainable_layers takes N or -N, not 0; to train all weights use finetuning_type full"));
  EXPECT_EQ(read_factory("finetuning_type: freeze\n").settings.train.trainable_layers, 2);
  EXPECT_EQ(read_factory("finetuning_type: freeze\nfreeze_trainable_layers: -3\n").settings.train.trainable_layers, -3);
  EXPECT_THAT(factory_error("finetuning_type: freeze\nfreeze_trainable_modules: self_attn\n"),
              HasSubstr("freeze_trainable_modules takes all"));
  EXPECT_THAT(factory_error("finetuning_type: freeze\nfreeze_extra_modules: embed_tokens\n"),
              HasSubstr("train.freeze names the frozen parts"));
}

TEST(LlamaFactory, SaysWhatTheDataAreAndWhatCarriesLoss) {
  EXPECT_EQ(read_factory(factory_head + "train_on_prompt: true\n").settings.data.loss_on, LossOn::all);
  EXPECT_EQ(read_factory(factory_head + "mask_history: true\n").settings.data.loss_on, LossOn::last_answer);
  EXPECT_THAT(factory_error(factory_head + "mask_history: true\ntrain_on_prompt: true\n"),
              HasSubstr("are mutually exclusive"));
  EXPECT_EQ(read_factory(factory_head + "disable_shuffling: true\n").settings.data.shuffle, false);
  EXPECT_EQ(read_factory(factory_head + "train_sampling_strategy: sequential\n").settings.data.shuffle, false);
  EXPECT_EQ(read_factory(factory_head + "train_sampling_strategy: group_by_length\n").settings.data.shuffle, true);
  EXPECT_THAT(factory_error(factory_head + "train_sampling_strategy: sorted\n"), HasSubstr("takes random, sequential"));
  EXPECT_TRUE(read_factory(factory_head + "packing: true\n").settings.data.packing);
  EXPECT_TRUE(read_factory(factory_head + "neat_packing: true\npacking: false\n").settings.data.packing);
  EXPECT_EQ(read_factory(factory_head + "template: alpaca\n").settings.data.chat_template, "alpaca");
  EXPECT_EQ(read_factory(factory_head + "template: qwen3\n").settings.data.chat_template, "auto");
  EXPECT_THAT(factory_notes(factory_head + "template: qwen3\n"),
              HasSubstr("template qwen3: the chat template in the model's own"));
  EXPECT_EQ(read_factory(factory_head + "enable_thinking: false\n").settings.data.thinking, false);
  const Settings mixed =
      read_factory(factory_head + "mix_strategy: interleave_over\ninterleave_probs: 0.7,0.3\n").settings;
  EXPECT_EQ(mixed.data.mix, Mix::over);
  EXPECT_EQ(mixed.data.weights, (std::vector<double>{0.7, 0.3}));
  EXPECT_THAT(factory_error(factory_head + "dataset_dir: ONLINE\n"), HasSubstr("nothing is downloaded"));
}

TEST(LlamaFactory, StepsAndStrategies) {
  EXPECT_EQ(read_factory(factory_head + "max_steps: -1\n").settings.train.steps, 0);
  EXPECT_EQ(read_factory(factory_head + "max_steps: 20\n").settings.train.steps, 20);
  EXPECT_EQ(read_factory(factory_head + "save_strategy: \"no\"\nsave_steps: 5\n").settings.checkpoint.every, 0);
  EXPECT_EQ(read_factory(factory_head + "save_strategy: epoch\n").settings.checkpoint.every, 500);
  EXPECT_THAT(factory_error(factory_head + "save_steps: 0.1\n"), HasSubstr("save_steps 0.1 is a fraction of all steps"));
  EXPECT_EQ(read_factory(factory_head + "save_total_limit: 3\n").settings.checkpoint.keep, 3);
  EXPECT_EQ(read_factory(factory_head + "evaluation_strategy: steps\nlogging_steps: 7\n").settings.train.eval_every, 7);
  EXPECT_EQ(read_factory(factory_head + "eval_steps: 7\n").settings.train.eval_every, 0);
  EXPECT_EQ(
      read_factory(factory_head + "resume_from_checkpoint: true\noverwrite_output_dir: true\n").settings.train.resume,
      "auto");
  EXPECT_EQ(read_factory(factory_head + "resume_from_checkpoint: saves/x\n").settings.train.resume, "saves/x");
  EXPECT_EQ(read_factory(factory_head + "gradient_checkpointing: false\n").settings.parallel.recompute,
            Recompute::none);
  EXPECT_EQ(read_factory(factory_head + "disable_gradient_checkpointing: true\n").settings.parallel.recompute,
            Recompute::none);
}

TEST(LlamaFactory, ASwitchThatSaysNeitherTrueNorFalseIsRefusedWithItsLine) {
  for (const char* name :
       {"packing", "neat_packing", "use_cpu", "no_cuda", "train_on_prompt", "mask_history", "disable_shuffling",
        "overwrite_output_dir", "gradient_checkpointing", "disable_gradient_checkpointing", "bf16",
        "eval_on_each_dataset"}) {
    for (const char* word : {"maybe", "2", "{a: 1}"})
      EXPECT_THAT(factory_error(factory_head + name + ": " + word + "\n"),
                  AllOf(HasSubstr("line 5"), HasSubstr(name), Not(HasSubstr("\n"))))
          << name << ": " << word;
    EXPECT_NO_THROW(read_factory(factory_head + name + ": n\n")) << name;
  }
  EXPECT_THAT(factory_error(factory_head + "enable_thinking: maybe\n"), HasSubstr("line 5: data.thinking takes true"));
  EXPECT_TRUE(read_factory(factory_head + "packing: y\n").settings.data.packing);
  EXPECT_EQ(read_factory(factory_head + "use_cpu: On\n").settings.train.device, "cpu");
  EXPECT_EQ(read_factory(factory_head + "gradient_checkpointing: Y\n").settings.parallel.recompute, Recompute::full);
  EXPECT_EQ(read_factory(factory_head + "resume_from_checkpoint: No\n").settings.train.resume, "never");
  EXPECT_THAT(factory_error(factory_head + "use_dora: y\n"), HasSubstr("use_dora is not supported"));
  EXPECT_NO_THROW(read_factory(factory_head + "use_dora: n\n"));
}

TEST(LlamaFactory, AStepHasTheRateAtItsStartAsInTransformers) {
  EXPECT_EQ(read_factory(factory_head).settings.optimizer.lr_at, LrAt::start);
  EXPECT_EQ(read_factory(factory_head + "optimizer: {lr_at: end}\n").settings.optimizer.lr_at, LrAt::end);
}

TEST(LlamaFactory, WarmupStableDecayIsThatOfTransformers) {
  const std::string wsd = factory_head + "lr_scheduler_type: warmup_stable_decay\nlearning_rate: 1e-3\n";
  const ParsedSettings alone = read_factory(
      wsd + "lr_scheduler_kwargs: {num_decay_steps: 20, min_lr_ratio: 0.1, decay_type: 1-sqrt, warmup_type: linear}\n");
  EXPECT_EQ(alone.settings.optimizer.lr_schedule, LrSchedule::wsd);
  EXPECT_EQ(alone.settings.optimizer.decay_steps, 20);
  EXPECT_EQ(alone.settings.optimizer.decay, LrDecay::sqrt);
  EXPECT_DOUBLE_EQ(alone.settings.optimizer.min_lr, 1e-4);
  EXPECT_THAT(base::join(in_english(alone.notes), "\n"), HasSubstr("the rate decays over the last 20 steps, as in transformers"));

  const auto of = [&](const std::string& more) { return read_factory(wsd + more).settings.optimizer; };
  EXPECT_EQ(of("").decay, LrDecay::cosine);
  EXPECT_DOUBLE_EQ(of("").decay_ratio, 2.0 / 3);
  EXPECT_EQ(of("max_steps: 100\nwarmup_ratio: 0.1\n").decay_steps, 60);  // of 90, a third is stable
  EXPECT_EQ(of("max_steps: 100\nwarmup_steps: 9\nlr_scheduler_kwargs: {num_stable_steps: 71, num_decay_steps: 20}\n")
                .decay_steps,
            20);
  EXPECT_THAT(factory_error(wsd + "lr_scheduler_kwargs: {num_stable_steps: 70, num_decay_steps: 20}\n"),
              HasSubstr("must add up to max_steps"));
  EXPECT_THAT(factory_error(wsd + "max_steps: 100\nlr_scheduler_kwargs: {num_stable_steps: 70}\n"),
              HasSubstr("must add up to max_steps"));
  EXPECT_THAT(factory_error(wsd + "warmup_steps: 5\n"), HasSubstr("needs num_decay_steps in lr_scheduler_kwargs"));
  for (const char* number : {"num_cycles: 1", "warmup_type: cosine", "decay_type: exp", "num_decay_steps: 0",
                             "num_decay_steps: 0.5", "future: 1"})
    EXPECT_THAT(factory_error(wsd + "lr_scheduler_kwargs: {" + number + "}\n"), HasSubstr("which is not supported"))
        << number;
}

TEST(LlamaFactory, EarlyStoppingAndEverySetByItselfAreSettings) {
  const Settings s =
      read_factory(factory_head + "eval_dataset: a,b\neval_strategy: steps\neval_steps: 5\nearly_stopping_steps: 3\n"
                                  "eval_on_each_dataset: true\n")
          .settings;
  EXPECT_EQ(s.train.early_stopping_patience, 3);
  EXPECT_NO_THROW(resolve(s, 1));
  EXPECT_THAT(config_error([] {
                resolve(read_factory(factory_head + "eval_dataset: a\nearly_stopping_steps: 3\n").settings, 1);
              }),
              HasSubstr("train.early_stopping_patience 3 counts evaluations, but there is only one, at the end"));
}

TEST(LlamaFactory, LearningRateAndOptimizer) {
  EXPECT_EQ(read_factory(factory_head + "lr_scheduler_type: constant_with_warmup\nwarmup_steps: 5\n")
                .settings.optimizer.warmup_steps,
            5);
  EXPECT_EQ(
      read_factory(factory_head + "lr_scheduler_type: constant\nwarmup_steps: 5\n").settings.optimizer.warmup_steps, 0);
  EXPECT_EQ(read_factory(factory_head + "warmup_steps: 0.03\n").settings.optimizer.warmup_ratio, 0.03);
  const std::string floor = "lr_scheduler_type: cosine_with_min_lr\nlearning_rate: 1e-3\nlr_scheduler_kwargs:\n  ";
  EXPECT_EQ(read_factory(factory_head + floor + "min_lr: 1e-5\n").settings.optimizer.min_lr, 1e-5);
  EXPECT_DOUBLE_EQ(read_factory(factory_head + floor + "min_lr_rate: 0.1\n").settings.optimizer.min_lr, 1e-4);
  EXPECT_THAT(factory_error(factory_head + floor + "num_cycles: 2\n"), HasSubstr("lr_scheduler_kwargs.num_cycles of"));
  EXPECT_THAT(factory_error(factory_head + "lr_scheduler_type: polynomial\n"),
              HasSubstr("lr_scheduler_type takes linear, cosine"));
  EXPECT_THAT(factory_error(factory_head + "optim: adafactor\n"), HasSubstr("optim adafactor is not supported"));
  EXPECT_EQ(read_factory(factory_head + "optim: adamw_torch_fused\nadam_beta2: 0.98\n").settings.optimizer.beta2, 0.98);
}

TEST(LlamaFactory, FsdpIsZero) {
  EXPECT_EQ(read_factory(factory_head + "fsdp: full_shard auto_wrap\n").settings.parallel.zero, 3);
  const Settings s = read_factory(factory_head + "fsdp: [shard_grad_op, offload]\n").settings;
  EXPECT_EQ(s.parallel.zero, 2);
  EXPECT_EQ(s.parallel.offload, Offload::host);
  EXPECT_THAT(factory_error(factory_head + "fsdp: hybrid_shard\n"), HasSubstr("fsdp hybrid_shard is not supported"));
}

// Anchors that refer to more than memory holds, or to themselves.
TEST(LlamaFactory, AnchorsCannotFillMemory) {
  std::string text = factory_head + "a: &a {x: 1}\n";
  for (char name = 'b'; name < 'z'; ++name)
    text += fmt::format("{0}: &{0} {{x: *{1}, y: *{1}, z: *{1}}}\n", name, static_cast<char>(name - 1));
  EXPECT_THAT(factory_error(text + "fsdp_config: *y\n"), HasSubstr("unknown key 'a'"));
  EXPECT_THAT(factory_error(factory_head + "fsdp_config: &me {x: *me}\nzqxwv: 1\n"), HasSubstr("zqxwv"));
}

TEST(LlamaFactory, EveryKeyOfTheTableIsThereOnceAndLeadsSomewhere) {
  std::set<std::string> seen;
  for (const LlamaFactoryKey& row : llama_factory_keys()) {
    EXPECT_TRUE(seen.insert(normalised(row.name)).second) << row.name;
    const bool is_spelling =
        row.meaning == LlamaFactoryKey::Meaning::spelling || row.meaning == LlamaFactoryKey::Meaning::lora;
    EXPECT_EQ(is_spelling, row.text.empty()) << row.name;
    if (row.meaning == LlamaFactoryKey::Meaning::refused) {
      EXPECT_NE(base::Phrase(row.text).in(base::Language::chinese), row.text) << row.name << " has no Chinese reason";
    }
    EXPECT_TRUE(!is_spelling || find_field(row.name) != nullptr || find_switch(row.name) != nullptr) << row.name;
  }
  for (const LlamaFactoryDefault& row : llama_factory_defaults()) {
    Settings s;
    EXPECT_FALSE(set_text(field_of(row.key), std::string(row.value), &s)) << row.key;
    EXPECT_NE(get_text(field_of(row.key), s), get_text(field_of(row.key), Settings{})) << row.key;
  }
}

}  // namespace
}  // namespace troika::config
