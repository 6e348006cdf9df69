#include "launch/starter.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder_test_support.h"

namespace troika::launch {
namespace {

std::string status_of(const std::string& folder) {
  records::RunReader run(folder);
  run.refresh();
  return service_status(run);
}

TEST(ServiceStatus, IsHowFarTheRunHasCome) {
  const base::TemporaryFolder folder;
  EXPECT_EQ(status_of(folder.path()), "");
  records::RunState state;
  state.steps = 60;
  state.first_step = 10;
  records::write_run_state(folder.path(), state);
  EXPECT_EQ(status_of(folder.path()), "preparing");

  metrics::StepMetrics row;
  row.step = 10;
  row.loss = 5.125;
  row.tokens_per_second = 5800;
  row.step_seconds = 2;
  std::ofstream rows(folder.path() + "/metrics.jsonl");
  rows << to_json(row) << std::endl;
  state.life = records::Life::training;
  records::write_run_state(folder.path(), state);
  EXPECT_EQ(status_of(folder.path()), "training");  // a row of the attempt before

  row.step = 12;
  rows << to_json(row) << std::endl;
  EXPECT_EQ(status_of(folder.path()), "step 12/60 loss 5.1250 5800 tokens/s ETA 1 min 36 s");
  state.life = records::Life::finished;
  records::write_run_state(folder.path(), state);
  EXPECT_EQ(status_of(folder.path()), "finished");
}

}  // namespace
}  // namespace troika::launch
