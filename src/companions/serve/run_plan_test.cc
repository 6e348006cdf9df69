#include "serve/run_plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "serve/planned_run_test_support.h"
#include "serve/run_config.h"

namespace troika::serve {
namespace {

using base::Language;
using testing::EndsWith;
using testing::HasSubstr;

nlohmann::json plan_of(const std::string& folder, Language language = Language::english) {
  return nlohmann::json::parse(plan_json_of_run(folder, {}, language));
}

TEST(PlanOfARun, StandsBesideWhatWasMeasured) {
  const PlannedRun run;
  run.write_steps(1, 20);
  run.write_samples(30);
  const auto plan = plan_of(run.path());
  const plan::Memory expected = PlannedRun::plan().memory.front();
  EXPECT_GT(plan["memory"]["predicted"]["parameters"], 0);
  EXPECT_EQ(plan["memory"]["predicted"]["program"], expected.program);
  const auto& measured = plan["memory"]["measured"];
  EXPECT_EQ(measured["parameters"], 10 << 20);
  EXPECT_EQ(measured["program"], (200 - 45) << 20);
  for (const char* name : {"parameters", "gradients", "state", "activations", "buffers", "program"}) {
    EXPECT_TRUE(measured.contains(name)) << name;
    EXPECT_TRUE(plan["memory"]["predicted"].contains(name)) << name;
  }
  EXPECT_GT(plan["step_seconds"]["predicted"], 0);
  EXPECT_EQ(plan["step_seconds"]["measured"], 0.25);
  EXPECT_THAT(plan["notes"].dump(), HasSubstr("troika probe"));
  EXPECT_THAT(plan["notes"].dump(), HasSubstr("pi0, pi1"));
  EXPECT_THAT(plan_of(run.path(), Language::chinese)["notes"].dump(), HasSubstr("预测"));
}

// The run knew its machines: its own figure, in the plan and in the grid, without a word of how else it was predicted.
TEST(PlanOfARun, ShowsWhatTheRunPredictedItself) {
  const PlannedRun run;
  run.write_samples(30);
  std::optional<records::RunState> state = records::read_run_state(run.path());
  ASSERT_TRUE(state);
  state->predicted_seconds = 7.5;
  records::write_run_state(run.path(), *state);
  const auto plan = plan_of(run.path());
  EXPECT_DOUBLE_EQ(plan["step_seconds"]["predicted"], 7.5);
  EXPECT_EQ(plan["notes"], nlohmann::json::array());
  const PlannedStep step = planned_step(plan_of_run(run.path(), *size_of_run(state)), *size_of_run(state), {}, Language::english);
  double end = 0;
  for (const auto& lane : step.trace.ranks)
    for (const auto& event : lane.events) end = std::max(end, event.end_seconds);
  EXPECT_DOUBLE_EQ(end, 7.5);
}

TEST(PlanOfARun, CountsTheLengthsThatTheRunHasRecorded) {
  const PlannedRun run;
  run.write_samples(30);
  const auto full = plan_of(run.path());
  EXPECT_EQ(full["lengths"], nullptr);
  std::optional<records::RunState> state = records::read_run_state(run.path());
  ASSERT_TRUE(state);
  plan::LengthCount count(12, 32, {});
  for (std::int64_t sample = 0; sample < 12; ++sample) {
    count.add_sample({4 + sample % 2});
    count.add_microbatch({{4 + sample % 2, sample, 0}}, 4 + sample % 2);
  }
  state->lengths = count.result();
  records::write_run_state(run.path(), *state);
  const auto shorter = plan_of(run.path());
  EXPECT_EQ(shorter["lengths"]["longest"], 5);
  EXPECT_EQ(shorter["lengths"]["bins"].size(), 1U);
  const double before = full["memory"]["predicted"]["activations"], now = shorter["memory"]["predicted"]["activations"];
  EXPECT_LT(now, before / 2);
  EXPECT_LT(shorter["step_seconds"]["predicted"], full["step_seconds"]["predicted"]);
}

TEST(PlanOfARun, SaysWhatIsNotKnown) {
  const base::TemporaryFolder folder;
  const auto plan = plan_of(folder.path());
  EXPECT_EQ(plan["memory"]["predicted"], nlohmann::json::object());
  EXPECT_EQ(plan["memory"]["measured"], nlohmann::json::object());
  EXPECT_EQ(plan["step_seconds"]["measured"], nullptr);
  EXPECT_EQ(plan["notes"].size(), 2U);
  const PlannedRun run;
  base::write_file_atomic(run.path() + "/config.yaml", "model: [damaged");
  EXPECT_EQ(plan_of(run.path())["memory"]["predicted"], nlohmann::json::object());
}

TEST(ConfigOfARun, IsThatOfTheLastAttemptWithItsCommandLines) {
  const PlannedRun run;
  base::write_file_atomic(run.path() + "/config-2.yaml", "train:\n  steps: 7\n");
  const auto config = nlohmann::json::parse(config_json(run.path()));
  EXPECT_EQ(config["yaml"], "train:\n  steps: 7\n");
  const std::string resume = config["resume_command"], command = config["command"];
  EXPECT_EQ(resume, "troika launch --nnodes 2 --node-rank 0 --master-addr pi0 --nproc-per-node 2 -- train " +
                        run.path() + "/config-2.yaml --out " + run.path() + " --resume auto");
  EXPECT_THAT(command, EndsWith("--out " + run.path() + "-again"));
}

TEST(ConfigOfARun, OfOneRankNeedsNoLauncher) {
  const base::TemporaryFolder folder;
  const std::string path = folder.path() + "/a b";
  base::make_directories(path);
  EXPECT_EQ(nlohmann::json::parse(config_json(path))["yaml"], nullptr);
  base::write_file_atomic(path + "/config.yaml", "train:\n  steps: 7\n");
  const std::string resume = nlohmann::json::parse(config_json(path))["resume_command"];
  EXPECT_EQ(resume, "troika train '" + path + "/config.yaml' --out '" + path + "' --resume auto");
}

}  // namespace
}  // namespace troika::serve
