#include "config/import/deepspeed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/text_files_test_support.h"
#include "config/config_test_support.h"

namespace troika::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string deepspeed_head = "stage: sft\nfinetuning_type: full\n";

ParsedSettings read_deepspeed(const std::string& text) {
  return parse_settings({temporary_file("deepspeed.yaml", text)}, {});
}

ParsedSettings with_file(const std::string& json, const std::string& more = "") {
  return read_deepspeed(deepspeed_head + "deepspeed: " + temporary_file("ds.json", json) + "\n" + more);
}

std::string deepspeed_error(const std::string& json, const std::string& more = "") {
  return config_error([&] { with_file(json, more); });
}

const std::string published = R"({
  "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
  "gradient_clipping": "auto", "zero_allow_untested_optimizer": true,
  "fp16": {"enabled": "auto", "loss_scale": 0, "initial_scale_power": 12}, "bf16": {"enabled": "auto"},
  "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": true},
    "offload_param": {"device": "cpu"}, "overlap_comm": false, "sub_group_size": 1e9}})";

TEST(DeepSpeed, ItsFileSaysTheZeroStageAndAutoLeavesTheRestToTheYaml) {
  const ParsedSettings parsed = with_file(published, "per_device_train_batch_size: 2\nbf16: true\n");
  const Settings& s = parsed.settings;
  EXPECT_EQ(s.parallel.zero, 3);
  EXPECT_EQ(s.parallel.offload, Offload::host);
  EXPECT_EQ(s.precision.compute, Precision::bf16);
  EXPECT_EQ(s.precision.loss_scale, 65536);
  EXPECT_EQ(s.batch.micro_batch_size, 2);
  EXPECT_THAT(base::join(in_english(parsed.notes), "\n"),
              HasSubstr("keys that have no effect here: offload_param (parameters stay on the compute device), zero_allow_untested_optimizer"));
}

TEST(DeepSpeed, AKeyThatIsGivenTwiceIsAnError) {
  EXPECT_THAT(
      base::message_of<base::DataError>([] { with_file(R"({"zero_optimization": {"stage": 2, "stage": 3}})"); }),
      HasSubstr("stage is given twice"));
  EXPECT_EQ(with_file(R"({"fp16": {"enabled": false}, "bf16": {"enabled": false}})").settings.parallel.zero, 0);
}

TEST(DeepSpeed, OlderAndNewerNamesAreKnown) {
  EXPECT_EQ(with_file(R"({"zero_optimization": {"stage": 2, "cpu_offload": true}})").settings.parallel.offload,
            Offload::host);
  EXPECT_THAT(deepspeed_error(R"({"zero_optimization": {"stage": 2, "zenflow": {"topk_ratio": 0.1}}})"),
              HasSubstr("zenflow is not supported"));
}

TEST(DeepSpeed, NumbersItStatesAreSettings) {
  const Settings s = with_file(R"({"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 4, "gradient_clipping": 0.5, "zero_optimization": {"stage": 2, "offload_optimizer":
    {"device": "nvme", "nvme_path": "/fast"}}, "fp16": {"enabled": true, "initial_scale_power": 12, "loss_scale_window":
    1000, "min_loss_scale": 2}, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "betas": [0.8, 0.99], "eps": 1e-7,
    "weight_decay": "auto"}}})")
                         .settings;
  EXPECT_EQ(resolve(s, 2).batch.global, 32);
  EXPECT_EQ(s.batch.micro_batch_size, 4);
  EXPECT_EQ(s.optimizer.clip_norm, 0.5);
  EXPECT_EQ(s.parallel.zero, 2);
  EXPECT_EQ(s.parallel.offload, Offload::file);
  EXPECT_EQ(s.parallel.offload_folder, "/fast");
  EXPECT_EQ(s.precision.compute, Precision::fp16);
  EXPECT_EQ(s.precision.loss_scale, 4096);
  EXPECT_EQ(s.precision.loss_scale_window, 1000);
  EXPECT_EQ(s.precision.loss_scale_min, 2);
  EXPECT_EQ(s.optimizer.lr, 1e-3);
  EXPECT_EQ(s.optimizer.beta1, 0.8);
  EXPECT_EQ(s.optimizer.beta2, 0.99);
  EXPECT_EQ(s.optimizer.eps, 1e-7);
  EXPECT_EQ(s.optimizer.weight_decay, 0);
}

TEST(DeepSpeed, ItsTrainBatchSizeIsMicroBatchTimesAccumulationTimesRanks) {
  const std::string three =
      R"({"train_batch_size": 16, "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4})";
  const std::string total = R"({"train_batch_size": 16})";
  const auto error = [](const Settings& s, std::int64_t world) { return config_error([&] { resolve(s, world); }); };
  EXPECT_EQ(resolve(with_file(three).settings, 4).batch.microbatches_per_rank, 4);
  EXPECT_THAT(error(with_file(three).settings, 2),
              HasSubstr("batch.global_batch_size 16 is not micro_batch_size 1 x microbatches 4 x dp 2 = 8"));
  EXPECT_THAT(error(with_file(total, "per_device_train_batch_size: 1\ngradient_accumulation_steps: 4\n").settings, 2),
              HasSubstr("is not micro_batch_size 1 x microbatches 4 x dp 2 = 8"));
  EXPECT_THAT(error(with_file(total).settings, 1), HasSubstr("is not micro_batch_size 8 x microbatches 1 x dp 1 = 8"));
  const std::string file = temporary_file("batch.json", three);
  EXPECT_THAT(resolve_error({"--deepspeed", file}, 2),
              HasSubstr("is not micro_batch_size 1 x microbatches 4 x dp 2 = 8"));
  const std::string two = temporary_file("two.json", R"({"train_batch_size": 16, "gradient_accumulation_steps": 4})");
  EXPECT_EQ(resolved({"--deepspeed", two}, 2).batch.micro, 2);
  const std::string open = temporary_file("open.json", R"({"train_batch_size": 16, "train_micro_batch_size_per_gpu": 1})");
  EXPECT_EQ(resolved({"--deepspeed", open}, 2).batch.microbatches_per_rank, 8);
}

TEST(DeepSpeed, ASwitchSaysTrueOrFalse) {
  EXPECT_THAT(deepspeed_error(R"({"bf16": {"enabled": "maybe"}})"),
              HasSubstr("bf16.enabled takes true or false, not 'maybe'"));
  EXPECT_THAT(deepspeed_error(R"({"fp16": {"enabled": 2}})"), HasSubstr("fp16.enabled takes true or false, not '2'"));
  const std::string inside = "deepspeed:\n  zero_optimization: {stage: 2, cpu_offload: True}\n  bf16: {enabled: Yes}\n"
                             "  amp: {enabled: False}\n";
  EXPECT_EQ(read_deepspeed(deepspeed_head + inside).settings.parallel.offload, Offload::host);
  EXPECT_EQ(read_deepspeed(deepspeed_head + inside).settings.precision.compute, Precision::bf16);
}

TEST(DeepSpeed, MayStandInTheYamlItself) {
  const Settings s = read_deepspeed(deepspeed_head +
                                    "deepspeed:\n  zero_optimization: {stage: 1}\n  gradient_clipping: 0.25\n"
                                    "  bf16: {enabled: true}\n")
                         .settings;
  EXPECT_EQ(s.parallel.zero, 1);
  EXPECT_EQ(s.optimizer.clip_norm, 0.25);
  EXPECT_EQ(s.precision.compute, Precision::bf16);
}

TEST(DeepSpeed, ANumberThatContradictsTheYamlIsAnError) {
  EXPECT_THAT(deepspeed_error(R"({"gradient_clipping": 0.5})", "max_grad_norm: 1.0\n"),
              AllOf(HasSubstr("optimizer.clip_norm is 1.0, but 0.5 in deepspeed"), HasSubstr("write \"auto\" there")));
  EXPECT_EQ(with_file(R"({"gradient_clipping": 1})", "max_grad_norm: 1.0\n").settings.optimizer.clip_norm, 1);
}

TEST(DeepSpeed, WhatIsNotSupportedIsRefusedByName) {
  EXPECT_THAT(deepspeed_error(R"({"scheduler": {"type": "WarmupLR"}})"),
              HasSubstr("scheduler is not supported: give lr_sch"));
  EXPECT_THAT(deepspeed_error(R"({"optimizer": {"type": "Lion"}})"),
              HasSubstr("optimizer Lion is not AdamW: leave it out"));
  EXPECT_THAT(deepspeed_error(R"({"fp16": {"enabled": true, "loss_scale": 128}})"), HasSubstr("fixes the loss scale"));
  EXPECT_THAT(deepspeed_error(R"({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "tape"}}})"),
              HasSubstr("device is 'tape' but must be cpu, nvme or none"));
  EXPECT_THAT(deepspeed_error(R"({"zero_optimization": {"stage": 4}})"), HasSubstr("parallel.zero"));
}

TEST(DeepSpeed, AMisspelledKeyIsAnErrorAndOneWithoutEffectIsNoted) {
  EXPECT_THAT(deepspeed_error(R"({"zero_optimization": {"stagee": 3}})"),
              HasSubstr("unknown key 'stagee' in zero_optimization; did you mean stage?"));
  EXPECT_THAT(deepspeed_error(R"({"zero_optimization": {"offload_optimizer": {"devise": "cpu"}}})"),
              HasSubstr("unknown key 'devise' in zero_optimization.offload_optimizer; did you mean device?"));
  EXPECT_THAT(deepspeed_error(R"({"bf16": {"enable": true}})"), HasSubstr("did you mean enabled?"));
  EXPECT_THAT(deepspeed_error(R"({"zero_optimization": 3})"),
              HasSubstr("zero_optimization is 3, but must be a section"));
  EXPECT_THAT(base::join(in_english(with_file(published).notes), "\n"), HasSubstr("zero_optimization.overlap_comm"));
}

TEST(DeepSpeed, APrecisionThatIsSwitchedOffContradictsTheYamlsOwn) {
  EXPECT_THAT(deepspeed_error(R"({"bf16": {"enabled": false}})", "bf16: true\n"),
              HasSubstr("precision.compute is bf16, but not bf16 in deepspeed"));
  EXPECT_EQ(with_file(R"({"bf16": {"enabled": false}})").settings.precision.compute, Precision::fp32);
  EXPECT_EQ(with_file(R"({"fp16": {"enabled": false}})", "bf16: true\n").settings.precision.compute, Precision::bf16);
}

TEST(DeepSpeed, AFileIsFoundBesideTheYaml) {
  const std::string json = temporary_file("beside.json", R"({"zero_optimization": {"stage": 2}})");
  const std::string name = json.substr(json.rfind('/') + 1);
  EXPECT_EQ(read_deepspeed(deepspeed_head + "deepspeed: " + name + "\n").settings.parallel.zero, 2);
  EXPECT_EQ(read_deepspeed(deepspeed_head + "deepspeed: examples/deepspeed/" + name + "\n").settings.parallel.zero, 2);
}

TEST(DeepSpeed, AnAbsentFileIsKnownByItsUsualName) {
  const ParsedSettings parsed =
      read_deepspeed(deepspeed_head + "deepspeed: examples/deepspeed/ds_z3_offload_config.json\n");
  EXPECT_EQ(parsed.settings.parallel.zero, 3);
  EXPECT_EQ(parsed.settings.parallel.offload, Offload::host);
  EXPECT_THAT(base::join(in_english(parsed.notes), "\n"), HasSubstr("does not exist; its name implies parallel.zero 3"));
  EXPECT_THAT(config_error([] { read_deepspeed(deepspeed_head + "deepspeed: mine.json\n"); }),
              HasSubstr("deepspeed 'mine.json' does not exist, nor does it next to this file"));
}

TEST(DeepSpeed, WhatIsNoJsonIsADataError) {
  EXPECT_THROW(with_file("{"), base::DataError);
  EXPECT_THROW(with_file("[1]"), base::DataError);
}

}  // namespace
}  // namespace troika::config
