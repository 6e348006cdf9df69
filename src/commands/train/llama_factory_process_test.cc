// A file of LLaMA-Factory with DeepSpeed's JSON beside it, started as its users do.
#include <gmock/gmock.h>

#include "base/file.h"
#include "base/text.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;

// A model to begin with, a dataset with its dataset_info.json, and a DeepSpeed file for the ZeRO stage.
void prepare(const Folder& folder) {
  const End made = run(troika(small_run(write_corpus(folder), folder / "model") + Words{"--steps", "1"}));
  ASSERT_EQ(made.code, 0) << made.output;
  std::string records;
  for (int i = 0; i < 40; ++i) {
    records += std::string(i == 0 ? "[" : ",\n") + R"({"instruction": "Say )" + std::to_string(i) +
               R"(", "input": "", "output": "It is )" + std::to_string(7 * i % 40) + R"(."})";
  }
  base::make_directories(folder / "data");
  base::write_file_atomic(folder / "data/numbers.json", records + "]\n");
  base::write_file_atomic(folder / "data/dataset_info.json", R"({"numbers": {"file_name": "numbers.json"}})");
  for (const char* stage : {"2", "3"}) {
    base::write_file_atomic(folder / (std::string("ds_z") + stage + "_config.json"),
                            std::string(R"({"train_micro_batch_size_per_gpu": "auto", "gradient_clipping": "auto",
                                            "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": )") +
                                stage + R"(, "overlap_comm": false, "reduce_bucket_size": 5e8}})");
  }
}

std::string write_yaml(const Folder& folder, const std::string& stage) {
  const std::string path = folder / ("full_sft_z" + stage + ".yaml");
  base::write_file_atomic(
      path, "### model\nmodel_name_or_path: " + (folder / "model") +
                "\ntrust_remote_code: true\n\n### method\nstage: sft\ndo_train: true\nfinetuning_type: full\n"
                "deepspeed: examples/deepspeed/ds_z" +
                stage + "_config.json\n\n### dataset\ndataset: numbers\ndataset_dir: " + (folder / "data") +
                "\ntemplate: chatml\ncutoff_len: 128\npreprocessing_num_workers: 2\n\n### output\noutput_dir: " +
                (folder / ("saves" + stage)) +
                "\nlogging_steps: 1\nplot_loss: true\noverwrite_output_dir: true\n\n### train\n"
                "per_device_train_batch_size: 2\ngradient_accumulation_steps: 2\nlearning_rate: 1.0e-3\nmax_steps: 2\n"
                "lr_scheduler_type: cosine\nwarmup_ratio: 0.5\nddp_timeout: 180000000\n");
  return path;
}

TEST(LlamaFactoryFile, FullFineTuningWithZero2AndZero3GivesEqualLosses) {
  const Folder folder;
  prepare(folder);
  for (const char* stage : {"2", "3"}) {
    const End end = run(troika({"train", write_yaml(folder, stage), "--log.progress", "none"}),
                        {{"FORCE_TORCHRUN", "1"}, {"NNODES", "1"}, {"NPROC_PER_NODE", "2"}});
    ASSERT_EQ(end.code, 0) << end.output;
    EXPECT_THAT(end.output, HasSubstr(std::string("ZeRO ") + stage));
    EXPECT_THAT(end.output, HasSubstr("global 8 = micro 2 x 2 microbatches x dp 2"));
    EXPECT_THAT(base::read_file(folder / (std::string("saves") + stage + "/config.yaml")),
                HasSubstr("warmup_steps: 1\n"));
  }
  expect_rows(read_rows(folder / "saves3"), read_rows(folder / "saves2"), "ZeRO 3 after ZeRO 2");
}

TEST(FindMicroBatchSize, AllRanksTakeTheLargestThatFits) {
  const Folder folder;
  const End end = run(launch(2, small_run(write_corpus(folder), folder / "run") +
                                    Words{"--steps", "1", "--global-batch-size", "12", "--find-micro-batch-size"}));
  ASSERT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("micro batch 6 fits ("));
  EXPECT_THAT(end.output, HasSubstr("global 12 = micro 6 x 1 microbatch x dp 2"));
  EXPECT_THAT(base::read_file(folder / "run/config.yaml"), HasSubstr("find_micro_batch_size: false"));
}

}  // namespace
}  // namespace troika::commands
