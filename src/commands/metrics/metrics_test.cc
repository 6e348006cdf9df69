#include "commands/entry_points.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "metrics/step_metrics.h"

namespace troika::commands {
namespace {

std::string metrics_report(const std::vector<std::string>& words) {
  return commands::metrics_report(words, base::Language::english);
}
using testing::HasSubstr;
using testing::StartsWith;

std::string run_of_one_step(const std::string& name) {
  const std::string folder = base::temporary_folder() + "/" + name;
  base::make_directories(folder);
  metrics::StepMetrics row;
  row.step = 1;
  row.loss = 4.5;
  metrics::MetricsFile(folder + "/metrics.jsonl").append(row);
  return folder;
}

TEST(Metrics, AreATableUnlessAnotherFormIsAskedFor) {
  const std::string run = run_of_one_step("table");
  EXPECT_THAT(metrics_report({run}), StartsWith("step,loss,"));
  EXPECT_EQ(metrics_report({run, "--csv"}), metrics_report({run}));
  EXPECT_THAT(metrics_report({run, "--openmetrics"}), HasSubstr("\ntroika_loss 4.5\n"));
}

TEST(Metrics, GoToAFileThatIsNamed) {
  const std::string run = run_of_one_step("file"), out = run + "/a.csv";
  EXPECT_EQ(metrics_report({run, "--out", out}), "");
  EXPECT_EQ(base::read_file(out), metrics_report({run}));
}

TEST(Metrics, AreWrittenForTensorboard) {
  const std::string run = run_of_one_step("tensorboard");
  EXPECT_THAT(metrics_report({run, "--tensorboard", run + "/tb"}),
              StartsWith("1 step in " + run + "/tb/events.out.tfevents."));
  EXPECT_THROW(metrics_report({run, "--tensorboard", run + "/tb"}), base::ConfigError);
}

TEST(Metrics, AreNotWrittenOverWhatTheRunKeeps) {
  const std::string run = run_of_one_step("kept"), before = base::read_file(run + "/metrics.jsonl");
  base::make_directories(run + "/checkpoints/step-00000001");
  ASSERT_EQ(::symlink(run.c_str(), (base::temporary_folder() + "/other-name").c_str()), 0);
  for (const std::string& out :
       {run + "/metrics.jsonl", run + "/./state.json", run + "/checkpoints/../config.yaml",
        base::temporary_folder() + "/other-name/events.jsonl", run + "/checkpoints/step-00000001/manifest.json"})
    EXPECT_THROW(metrics_report({run, "--csv", "--out", out}), base::ConfigError) << out;
  EXPECT_EQ(base::read_file(run + "/metrics.jsonl"), before);
}

TEST(Metrics, SayWhichRowsAreLeftOut) {
  const std::string run = run_of_one_step("damaged");
  base::append_file(run + "/metrics.jsonl", "{\"step\": \n{}\n");
  testing::internal::CaptureStderr();
  const std::string table = metrics_report({run, "--csv"});
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("note: 2 rows of '" + run + "/metrics.jsonl' cannot be read and are left out; steps written: 1"));
  EXPECT_THAT(table, HasSubstr("\n1,4.5,"));
  base::write_file_atomic(run + "/metrics.jsonl", "step,loss\n1,4.5\n");
  EXPECT_THROW(metrics_report({run, "--csv"}), base::DataError);
}

TEST(Metrics, RefuseWhatCannotBe) {
  const std::string run = run_of_one_step("refused");
  EXPECT_THROW(metrics_report({}), base::ConfigError);
  EXPECT_THROW(metrics_report({base::temporary_folder() + "/no-run"}), base::ConfigError);
  EXPECT_THROW(metrics_report({run, "--csv", "--openmetrics"}), base::ConfigError);
  EXPECT_THROW(metrics_report({run, "--tensorboard", "x", "--out", "y"}), base::ConfigError);
}

}  // namespace
}  // namespace troika::commands
