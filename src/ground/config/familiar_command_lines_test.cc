// The command lines, files and variables that users of other programs bring along.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "config/config_test_support.h"

namespace troika::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string notes_of(const std::vector<std::string>& arguments, const Environment& environment = {}) {
  return base::join(in_english(parse_settings(arguments, environment).notes), "\n");
}

TEST(FamiliarCommandLines, APipelineOfThreeHosts) {
  const Resolved run = resolved({"--pp", "3", "--train_steps", "5", "--batch_size", "8", "--microbatch_num", "4"}, 3);
  EXPECT_EQ(run.settings.train.steps, 5);
  EXPECT_EQ(run.batch.micro, 2);
  EXPECT_EQ(run.batch.microbatches_per_rank, 4);
  EXPECT_EQ(run.settings.parallel.pp, 3);
  EXPECT_EQ(parsed({"--batch_size", "8"}).train.epochs, 1) << "one epoch without --train_steps";
}

TEST(FamiliarCommandLines, DataParallelWithFewerLayers) {
  const Resolved run = resolved({"--train_steps", "20", "--batch_size", "3", "--middle_layers", "2"}, 3);
  EXPECT_EQ(run.settings.model.layers, 2);
  EXPECT_EQ(run.batch.global, 9);
  EXPECT_THAT(resolve_error({"--batch_size", "8", "--microbatch_num", "3"}, 3), HasSubstr("6 and 9 are the nearest"));
}

TEST(FamiliarCommandLines, VariablesAreDefaultsAndTheCommandLineWins) {
  const Environment environment = {{"BATCH_SIZE", "12"}, {"MICROBATCH_NUM", "6"}};
  EXPECT_EQ(resolved({}, 1, environment).batch.micro, 2);
  EXPECT_EQ(resolved({"--batch_size", "24"}, 1, environment).batch.micro, 4);
}

TEST(FamiliarCommandLines, APasswordIsNeitherStoredNorPrinted) {
  const ParsedSettings run = parse_settings({"--sudo_pass", "geheim", "--train_steps", "5"}, {});
  EXPECT_EQ(run.settings.train.steps, 5);
  EXPECT_THAT(run.notes.front().english, AllOf(HasSubstr("--sudo_pass is ignored"), Not(HasSubstr("geheim"))));
  EXPECT_THAT(to_yaml(run.settings), Not(HasSubstr("geheim")));
}

TEST(FamiliarCommandLines, StepsToRecordAreChosenAndAnyBatchSizeWorks) {
  EXPECT_EQ(parsed({"--profile_batch", "3"}).train.profile, "3");
  EXPECT_EQ(resolved({"--batch_size", "7"}, 3).batch.global, 21);
}

TEST(FamiliarCommandLines, TheSpellingsOf3dParallelTraining) {
  const Resolved run = resolved({"--tp_size",
                                 "2",
                                 "--pp_size",
                                 "2",
                                 "--num_microbatches",
                                 "4",
                                 "--batch_size",
                                 "8",
                                 "--max_seq_len",
                                 "128",
                                 "--pipeline_schedule",
                                 "gpipe",
                                 "--max_steps",
                                 "50",
                                 "--warmup_steps",
                                 "5",
                                 "--learning_rate",
                                 "1e-3",
                                 "--save_steps",
                                 "10",
                                 "--num_workers",
                                 "3",
                                 "--max_grad_norm",
                                 "0.5",
                                 "--hidden_size",
                                 "64",
                                 "--num_layers",
                                 "4",
                                 "--vocab_size",
                                 "1000",
                                 "--gradient_accumulation_steps",
                                 "2",
                                 "--bf16"},
                                8);
  const Settings& s = run.settings;
  EXPECT_EQ(run.settings.parallel.dp, 2);
  EXPECT_EQ(s.parallel.schedule, Schedule::gpipe);
  EXPECT_EQ(run.batch.micro, 2);
  EXPECT_EQ(run.batch.microbatches_per_rank, 8);
  EXPECT_EQ(run.batch.seq_len, 128);
  EXPECT_EQ(s.train.steps, 50);
  EXPECT_EQ(s.optimizer.lr, 1e-3);
  EXPECT_EQ(s.optimizer.warmup_steps, 5);
  EXPECT_EQ(s.optimizer.clip_norm, 0.5);
  EXPECT_EQ(s.checkpoint.every, 10);
  EXPECT_EQ(s.data.workers, 3);
  EXPECT_EQ(s.model.vocab, 1000);
  EXPECT_EQ(s.model.hidden, 64);
  EXPECT_EQ(s.model.layers, 4);
  EXPECT_EQ(s.precision.compute, Precision::bf16);
  EXPECT_EQ(parsed({"--fp16", "--pipeline_schedule", "1f1b"}).precision.compute, Precision::fp16);
}

TEST(FamiliarCommandLines, TheLossScaleOfFp16) {
  const PrecisionSettings p = parsed({"--fp16"}).precision;
  EXPECT_EQ(p.loss_scale, 65536);
  EXPECT_EQ(p.loss_scale_growth, 2);
  EXPECT_EQ(p.loss_scale_backoff, 0.5);
  EXPECT_EQ(p.loss_scale_window, 2000);
}

TEST(FamiliarCommandLines, RecomputationAndOffload) {
  EXPECT_EQ(parsed({"--gradient_checkpointing"}).parallel.recompute, Recompute::full);
  EXPECT_EQ(parsed({"--activation_checkpointing"}).parallel.recompute, Recompute::full);
  EXPECT_EQ(parsed({"--offload_optimizer", "cpu"}).parallel.offload, Offload::host);
}

TEST(FamiliarCommandLines, OneFileForAModelSize) {
  const std::string yaml =
      temporary_file("medium.yaml", "model_size: medium\ntp_size: 2\npp_size: 2\nbatch_size: 8\nnum_microbatches: 4\n");
  EXPECT_EQ(resolved({yaml}, 8).settings.parallel.dp, 2);
  EXPECT_EQ(parsed({"--config", yaml}).model.preset, "qwen3-medium");
}

TEST(FamiliarCommandLines, TheVariablesOfTheirScripts) {
  const std::string yaml = temporary_file("scripts.yaml", "train: {steps: 7}\n");
  const Settings s = parsed({}, {{"TP_SIZE", "2"},
                                 {"PP_SIZE", "4"},
                                 {"HIDDEN_SIZE", "512"},
                                 {"NUM_LAYERS", "8"},
                                 {"CONFIG_FILE", yaml},
                                 {"NCCL_TIMEOUT", "30"},
                                 {"NCCL_SOCKET_IFNAME", "eth0"}});
  EXPECT_EQ(s.parallel.tp, 2);
  EXPECT_EQ(s.parallel.pp, 4);
  EXPECT_EQ(s.model.hidden, 512);
  EXPECT_EQ(s.model.layers, 8);
  EXPECT_EQ(s.train.steps, 7);
  EXPECT_EQ(s.comm.timeout_seconds, 30);
  EXPECT_EQ(s.comm.interface, "eth0");
}

TEST(FamiliarCommandLines, WorkersThatPrepareText) {
  EXPECT_EQ(parsed({"--preprocessing_num_workers", "16"}).data.workers, 16);
}

// The two files of the guide: full fine-tuning with ZeRO 2 and with ZeRO 3 on two nodes of eight devices.
TEST(FamiliarCommandLines, TheFileOfLlamaFactory) {
  const std::string yaml = temporary_file(
      "qwen_full_sft.yaml",
      "stage: sft\ndo_train: true\nfinetuning_type: full\ndeepspeed: examples/deepspeed/ds_z3_config.json\n"
      "dataset: alpaca_zh\ntemplate: qwen\ncutoff_len: 2048\npreprocessing_num_workers: 16\noutput_dir: saves/qwen\n"
      "per_device_train_batch_size: 1\ngradient_accumulation_steps: 2\nlearning_rate: 1.0e-5\nnum_train_epochs: 3.0\n"
      "lr_scheduler_type: cosine\nwarmup_ratio: 0.1\nbf16: true\nddp_timeout: 180000000\n");
  const Resolved run = resolved({yaml}, 16, {{"FORCE_TORCHRUN", "1"}, {"NNODES", "2"}, {"NODE_RANK", "0"}});
  EXPECT_EQ(run.settings.parallel.zero, 3);
  EXPECT_EQ(run.batch.global, 32);
  EXPECT_THAT(notes_of({yaml}, {{"FORCE_TORCHRUN", "1"}}),
              AllOf(HasSubstr("FORCE_TORCHRUN in the environment is ignored: torchrun is not needed"),
                    HasSubstr("ds_z3_config.json' does not exist; its name implies parallel.zero 3")));
}

TEST(FamiliarCommandLines, TheSameKeysAsFlags) {
  const Settings s = parsed({"--per_device_train_batch_size",
                             "1",
                             "--gradient_accumulation_steps",
                             "8",
                             "--learning_rate",
                             "1e-5",
                             "--num_train_epochs",
                             "3.0",
                             "--lr_scheduler_type",
                             "cosine",
                             "--warmup_ratio",
                             "0.1",
                             "--cutoff_len",
                             "1024",
                             "--output_dir",
                             "saves",
                             "--dataset",
                             "alpaca",
                             "--val_size",
                             "0.1",
                             "--weight_decay",
                             "0.01",
                             "--adam_beta2",
                             "0.99",
                             "--save_total_limit",
                             "4",
                             "--lora_rank",
                             "8",
                             "--lora_target",
                             "q_proj",
                             "--resume_from_checkpoint",
                             "true",
                             "--pure_bf16",
                             "--train_on_prompt"});
  EXPECT_EQ(s.batch.micro_batch_size, 1);
  EXPECT_EQ(s.batch.accumulation, 8);
  EXPECT_EQ(s.optimizer.lr, 1e-5);
  EXPECT_EQ(s.train.epochs, 3);
  EXPECT_EQ(s.optimizer.warmup_ratio, 0.1);
  EXPECT_EQ(s.batch.seq_len, 1024);
  EXPECT_EQ(s.train.out, "saves");
  EXPECT_EQ(s.data.train, "alpaca");
  EXPECT_EQ(s.data.valid_share, 0.1);
  EXPECT_EQ(s.checkpoint.keep, 4);
  EXPECT_EQ(s.lora.rank, 8);
  EXPECT_EQ(s.precision.compute, Precision::bf16);
  EXPECT_EQ(s.data.loss_on, LossOn::all);
}

TEST(FamiliarCommandLines, QwenByOneProcessOrMany) {
  const std::vector<std::string> line = {"--batch_size", "4",    "--max_length", "128",  "--num_epochs", "2",
                                         "--model_size", "tiny", "--lr",         "5e-4", "--save_dir",   "runs/q"};
  for (const int world : {1, 2, 3}) {
    const Resolved run = resolved(line, world);
    EXPECT_EQ(run.batch.global, 4 * world);
    EXPECT_EQ(run.batch.seq_len, 128);
    EXPECT_EQ(run.settings.train.epochs, 2);
    EXPECT_EQ(run.settings.train.out, "runs/q");
    EXPECT_EQ(run.settings.model.preset, "qwen3-tiny");
  }
}

TEST(FamiliarCommandLines, TheBackEndIsASetting) {
  EXPECT_EQ(parsed({"--backend", "gloo"}).comm.backend, Backend::gloo);
  EXPECT_EQ(Settings{}.comm.backend, Backend::automatic);
}

TEST(FamiliarCommandLines, FlagsOfTorchDistributedLaunchAreAccepted) {
  EXPECT_THAT(notes_of({"--local_rank", "1", "--world_size=2"}),
              AllOf(HasSubstr("--local_rank is ignored"), HasSubstr("--world_size is ignored")));
  EXPECT_EQ(parsed({"--local-rank=0", "--steps", "3"}).train.steps, 3);
}

TEST(FamiliarCommandLines, APresetWithOverrides) {
  const Resolved run = resolved({"--config", "configs/dual_gpu/balanced.py", "--device_batch_size=16",
                                 "--total_batch_size=65536", "--num_iterations=50", "--eval_every=25", "--depth=10"},
                                2);
  EXPECT_EQ(run.batch.micro, 16);
  EXPECT_EQ(run.batch.seq_len, 2048);
  EXPECT_EQ(run.batch.tokens_per_step(), 65536);
  EXPECT_EQ(run.batch.microbatches_per_rank, 1);
  EXPECT_EQ(run.settings.train.steps, 50);
  EXPECT_EQ(run.settings.train.eval_every, 25);
  EXPECT_EQ(run.settings.model.layers, 10);
  EXPECT_EQ(run.settings.model.hidden, 640);
}

TEST(FamiliarCommandLines, ATotalBatchThatDoesNotDivideIsComputedUnevenlyOrToldWhatDoes) {
  const std::vector<std::string> line = {"--device_batch_size=16", "--max_seq_len", "2048"};
  const Resolved uneven = resolved({line[0], line[1], line[2], "--total_batch_size=49152"}, 2);
  EXPECT_EQ(uneven.batch.global, 24);
  ASSERT_FALSE(uneven.notes.empty());
  EXPECT_THAT(uneven.notes.back().english, HasSubstr("a step of 24 sequences is not a multiple of micro_batch_size 16 x dp 2 = 32"));
  EXPECT_THAT(resolve_error({line[0], line[1], line[2], "--total_batch_size=100000"}, 2),
              HasSubstr("65536 and 131072 are the nearest multiples"));
  EXPECT_EQ(resolved({line[0], line[1], line[2], "--total_batch_size=65536"}, 2).batch.global, 32);
}

TEST(FamiliarCommandLines, TheBatchSizeMayBeFound) {
  EXPECT_FALSE(resolved({"--find-micro-batch-size", "--total_batch_size=65536", "--max_seq_len", "2048"}, 2)
                   .batch_candidates.empty());
}

TEST(FamiliarCommandLines, TheirConfigFilesAndVariables) {
  for (const TrainPreset preset : {TrainPreset::conservative, TrainPreset::balanced, TrainPreset::aggressive})
    EXPECT_EQ(parsed({"--config", "configs/dual_gpu/" + word_of(preset) + ".py"}).train.preset, preset);
  EXPECT_THAT(
      notes_of({}, {{"WANDB_MODE", "offline"}, {"USE_LIBUV", "0"}, {"TORCH_COMPILE", "1"}}),
      AllOf(HasSubstr("WANDB_MODE in the environment is ignored"), HasSubstr("USE_LIBUV"), HasSubstr("TORCH_COMPILE")));
}

}  // namespace
}  // namespace troika::config
