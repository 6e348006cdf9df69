#include "planner/plan_arguments.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "base/text.h"
#include "commands/entry_points.h"
#include "config/config.h"
#include "config/resolve.h"

namespace troika::commands {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string start_of(Words words) {
  words.insert(words.begin(), "plan");
  const std::string page = plan_report(call_of(words, {}));
  const auto at = page.find("\nstart   ") + 9;
  return page.substr(at, page.find('\n', at) - at);
}

const Words qwen3_small{"--model.preset", "qwen3-small", "--batch.seq_len", "256"};

Words words_with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(PlanStartCommand, HoldsTheFileAndTheSettingsButNotTheMachinesNorAnotherBatch) {
  const base::TemporaryFolder folder;
  const std::string file = folder.path() + "/pi 4.yaml";
  base::write_file_atomic(file, "data:\n  train: corpus.txt\n");
  const std::string start =
      start_of(words_with(qwen3_small, {file, "--batch_size", "8", "--steps=30", "--gpu", "h100", "--gpus", "1"}));
  EXPECT_THAT(start, AllOf(HasSubstr("troika train --model.preset qwen3-small --batch.seq_len 256 '" + file +
                                     "' --steps=30 --dp 1 --pp 1 "),
                           HasSubstr(" --global-batch-size 8 "), Not(HasSubstr("batch_size 8")), Not(HasSubstr("gpu")),
                           Not(HasSubstr("PATH"))));
}

TEST(PlanStartCommand, LaunchesRanksAndAsksForWhatOnlyTheUserKnows) {
  const Words two = words_with(qwen3_small, {"--batch.global_batch_size", "16", "--gpu", "h100"});
  EXPECT_THAT(
      start_of(words_with(two, {"--gpus", "2"})),
      AllOf(HasSubstr("troika launch --nproc-per-node 2 -- train --model.preset "), HasSubstr(" --data.train PATH")));
  EXPECT_THAT(start_of(words_with(two, {"--gpus", "4", "--gpus-per-node", "2"})),
              HasSubstr("troika launch --nnodes 2 --node-rank K --master-addr HOST0 --nproc-per-node 2 -- train "));
}

// Its settings in the layout of the plan would contradict the file itself.
TEST(PlanStartCommand, OfGpusIsInBf16UnlessAPrecisionIsStated) {
  const base::TemporaryFolder folder;
  const std::string file = folder.path() + "/fp32.yaml";
  base::write_file_atomic(file, "precision: {compute: fp32}\n");
  const Words on_gpu = words_with(qwen3_small, {"--batch.global_batch_size", "8", "--gpu", "RTX 3090", "--gpus", "1"});
  EXPECT_THAT(start_of(on_gpu), HasSubstr("--precision.compute bf16"));
  EXPECT_THAT(start_of(words_with(on_gpu, {"--fp32"})), HasSubstr("--precision.compute fp32"));
  EXPECT_THAT(start_of(words_with(on_gpu, {file})), HasSubstr("--precision.compute fp32"));
}

TEST(PlanStartCommand, HasTheSettingsOfDeepSpeedsFileInsteadOfTheFile) {
  const base::TemporaryFolder folder;
  const std::string file = folder.path() + "/ds.json";
  base::write_file_atomic(file, R"({"train_batch_size": 16, "gradient_accumulation_steps": 2, "gradient_clipping": 0.5,
                                    "bf16": {"enabled": false}})");
  const std::string start = start_of(words_with(qwen3_small, {"--deepspeed", file, "--nproc", "2"}));
  EXPECT_THAT(
      start, AllOf(HasSubstr("troika launch --nproc-per-node 2 -- train --model.preset qwen3-small"), HasSubstr("0.5 "),
                   HasSubstr("--global-batch-size 16 "), HasSubstr("--precision.compute fp32"),
                   Not(HasSubstr("deepspeed")), Not(HasSubstr("accumulation"))));
  Words train = base::split(start.substr(start.find("--model.preset")), ' ');
  EXPECT_EQ(config::resolve(config::parse_settings(train, {}).settings, 2).batch.global, 16);
}

TEST(PlanStartCommand, TakesTheFileThatWriteWrote) {
  const base::TemporaryFolder folder;
  const std::string best = folder.path() + "/best.yaml";
  const Words words{
      "--batch.global_batch_size", "16", "--gpu", "h100", "--gpus", "2", "--data.train", "x", "--write", best};
  EXPECT_EQ(start_of(words_with(qwen3_small, words)), "troika launch --nproc-per-node 2 -- train " + best);
}

}  // namespace
}  // namespace troika::commands
