// The verb `bench`, as a user starts it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;
using testing::Not;

const Words tiny{"--model.hidden",     "32", "--model.layers",  "2",  "--model.heads", "2",   "--model.kv-heads", "1",
                 "--model.head-dim",   "16", "--model.ffn",     "64", "--model.vocab", "128", "--seq-len",        "16",
                 "--micro-batch-size", "2",  "--train.threads", "1"};

nlohmann::json json_of(const std::string& output) {
  const std::size_t begin = output.find("{\"model\"");
  return base::parse_json(output.substr(begin, output.find('\n', begin) - begin), output);
}

void expect_consistent(const nlohmann::json& json, int world, double sequences) {
  const auto number = [&](const char* key) { return base::json_double(json, key, "the report"); };
  EXPECT_EQ(json["world"], world);
  EXPECT_EQ(json["batch"], sequences);
  EXPECT_GT(number("parameters"), 10000);
  EXPECT_NEAR(number("tokens_per_second") * number("step_seconds"), sequences * 16, 0.01 * sequences * 16);
  EXPECT_NEAR(number("share_of_ideal"), number("ideal_seconds") / number("step_seconds"), 0.01);
  EXPECT_GE(number("first_step_seconds"), number("step_seconds"));
  EXPECT_GT(number("peak_rss_mb"), 10);
  EXPECT_GT(number("gemm_gflops"), 0);
  EXPECT_GT(number("triad_gbytes_per_second"), 0);
}

TEST(Bench, OfTheKernelsShowsEveryOperationOfAStep) {
  const Folder folder;
  const End end = run(troika(Words{"bench", "kernels"} + tiny +
                             Words{"--batch.microbatches", "2", "--seconds", "0", "--csv", folder / "k.csv"}));
  ASSERT_EQ(end.code, 0) << end.output;
  const std::string csv = base::read_file(folder / "k.csv");
  for (const char* operation :
       {"embedding forward", "embedding backward", "rms norm forward", "rms norm backward", "linear qkv forward",
        "linear gate and up dX", "linear down dW", "norm and rope q backward", "norm and rope k forward",
        "attention forward", "attention backward", "swiglu forward", "swiglu backward", "output loss, both passes",
        "add gradients", "squares", "adamw"}) {
    EXPECT_THAT(end.output, HasSubstr(operation));
    EXPECT_THAT(csv, HasSubstr(std::string("\"") + operation + "\",")) << operation;
  }
  EXPECT_THAT(end.output, HasSubstr("all of a step: "));
}

TEST(FullBench, OfTheKernelsOfGpt2HasItsOwn) {
  const End end = run(troika({"bench", "kernels", "--model.preset", "gpt2-tiny", "--seq-len", "16",
                              "--micro-batch-size", "1", "--train.threads", "1", "--seconds", "0"}));
  ASSERT_EQ(end.code, 0) << end.output;
  for (const char* operation : {"positions backward", "layer norm backward", "linear qkv dbias", "gelu backward"})
    EXPECT_THAT(end.output, HasSubstr(operation));
  EXPECT_THAT(end.output, Not(HasSubstr("swiglu")));
}

TEST(FullBench, OfTheKernelsInHalvesMeasuresTheSameOperations) {
  const Words gpt2 = {"--model.preset", "gpt2-tiny", "--seq-len", "16", "--micro-batch-size", "1"};
  for (const Words& model : {tiny, gpt2}) {
    const End end = run(troika(Words{"bench", "kernels", "--bf16", "--train.threads", "1", "--seconds", "0"} + model));
    ASSERT_EQ(end.code, 0) << end.output;
    for (const char* operation : {"attention backward", "linear qkv dW", "output loss, both passes", "adamw"})
      EXPECT_THAT(end.output, HasSubstr(operation));
  }
}

TEST(FullBench, OfTheKernelsOfQwen2TurnsHeadsWithoutANormAndHasOneBias) {
  const End end = run(troika(Words{"bench", "kernels"} + tiny +
                             Words{"--model.architecture", "qwen2", "--train.threads", "1", "--seconds", "0"}));
  ASSERT_EQ(end.code, 0) << end.output;
  for (const char* operation : {"rope q forward", "rope k backward", "linear qkv dbias", "swiglu backward"})
    EXPECT_THAT(end.output, HasSubstr(operation));
  for (const char* operation : {"norm and rope", "linear down dbias"})
    EXPECT_THAT(end.output, Not(HasSubstr(operation)));
}

TEST(Bench, OfAStepReportsConsistentNumbers) {
  const End end = run(troika(Words{"bench", "step", "--json", "--seconds", "0", "--steps", "3"} + tiny));
  ASSERT_EQ(end.code, 0) << end.output;
  expect_consistent(json_of(end.output), 1, 2);
}

TEST(Bench, OfAStepCountsAllRanks) {
  const End end = run(launch(2, Words{"bench", "step", "--json", "--seconds", "0", "--steps", "3"} + tiny));
  ASSERT_EQ(end.code, 0) << end.output;
  expect_consistent(json_of(end.output), 2, 4);
}

TEST(Bench, OfAStepWritesOnlyToAFolderThatWasGiven) {
  const Folder folder;
  const End end = run(troika(Words{"bench", "step", "--seconds", "0", "--steps", "2", "--out", folder / "run"} + tiny));
  ASSERT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("ideal step"));
  EXPECT_EQ(read_rows(folder / "run").size(), 2u);
  EXPECT_TRUE(base::file_exists(folder / "run/config.yaml"));
  EXPECT_FALSE(base::directory_exists(folder / "run/checkpoints"));
}

TEST(Bench, LeavesTheRunAloneWhoseSettingsItBorrows) {
  const Folder folder;
  base::make_directories(folder / "run/checkpoints");
  base::write_file_atomic(folder / "run/metrics.jsonl", "a run's row\n");
  base::write_file_atomic(folder / "run.yaml", "train: {out: " + (folder / "run") + "}\n");
  const Words step{"bench", "step", "--seconds", "0", "--steps", "2"};
  const End of_file = run(troika(step + Words{folder / "run.yaml"} + tiny));
  EXPECT_EQ(of_file.code, 0) << of_file.output;
  EXPECT_EQ(base::read_file(folder / "run/metrics.jsonl"), "a run's row\n");
  EXPECT_FALSE(base::file_exists(folder / "run/config.yaml"));
  const End given = run(launch(2, step + Words{"--out", folder / "run"} + tiny));
  EXPECT_EQ(given.code, 2) << given.output;
  EXPECT_THAT(given.output, HasSubstr("where a run left its metrics.jsonl: give the bench a new folder"));
  base::remove_tree(folder / "run/metrics.jsonl");
  const End saved = run(troika(step + Words{"--out", folder / "run"} + tiny));
  EXPECT_EQ(saved.code, 2) << saved.output;
  EXPECT_THAT(saved.output, HasSubstr("where a run left its checkpoints"));
}

TEST(Bench, OfMessagesChecksAndMeasuresEveryKind) {
  const Folder folder;
  const End end = run(launch(2, {"bench", "comm", "--most", "4KiB", "--seconds", "0", "--csv", folder / "comm.csv"}));
  ASSERT_EQ(end.code, 0) << end.output;
  const std::string csv = base::read_file(folder / "comm.csv");
  for (const char* row : {"send and receive,2,1024,", "reduce-scatter,2,4096,", "reduce-scatter of sums,2,4096,",
                          "all-gather,2,4096,", "sum of integers,2,1024,"})
    EXPECT_THAT(csv, HasSubstr(row));
}

TEST(Bench, RefusesAWrongSettingWithExitCode2) {
  const End end = run(troika({"bench", "step", "--bogus", "1"}));
  EXPECT_EQ(end.code, 2) << end.output;
  EXPECT_THAT(end.output, HasSubstr("unknown flag --bogus"));
}

}  // namespace
}  // namespace troika::commands
