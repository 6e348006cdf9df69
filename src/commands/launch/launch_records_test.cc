#include "commands/launch/launch_records.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/host_name.h"
#include "base/temporary_folder_test_support.h"
#include "host/process.h"
#include "records/run_reader.h"
#include "records/run_state.h"

namespace troika::commands {
namespace {

TEST(LaunchRecords, SayWhichProcessLaunches) {
  const base::TemporaryFolder folder;
  for (const int node : {1, 0}) {
    LaunchRecords records(folder.path(), node);
    records.attempt_begins(0, "abc", "2 ranks");
    records.flush();
  }
  records::RunReader run(folder.path());
  run.refresh();
  ASSERT_EQ(run.events().size(), 1u);  // host 0's
  const records::Event& event = run.events().front();
  EXPECT_EQ(event.kind, records::EventKind::launch);
  EXPECT_EQ(event.host, base::host_name());
  EXPECT_EQ(event.number("pid"), ::getpid());
  EXPECT_EQ(event.number("process_start"), static_cast<double>(host::process_start(::getpid())));
}

TEST(LaunchRecords, SayThatARunHasStoppedWhoseRanksCouldNot) {
  const base::TemporaryFolder folder;
  records::RunState state;
  state.life = records::Life::training;
  state.launch = "abc";
  records::write_run_state(folder.path(), state);
  for (const char* launch : {"other", "abc"}) {
    LaunchRecords records(folder.path(), 0);
    records.attempt_begins(0, launch, "2 ranks");
    records.ended_at_once("ended at once");
    records.flush();
    const auto now = records::read_run_state(folder.path());
    ASSERT_TRUE(now);
    EXPECT_EQ(now->life, launch == std::string("abc") ? records::Life::stopped : records::Life::training);
  }
}

TEST(LaunchRecords, EndTheStateOfRanksThatCouldNotSaySo) {
  using records::Life;
  const base::TemporaryFolder folder;
  LaunchRecords records(folder.path(), 0);
  records.attempt_begins(0, "abc", "2 ranks");
  const auto after_a_stop = [&](Life life, const std::string& launch) {
    records::RunState state;
    state.life = life;
    state.launch = launch;
    records::write_run_state(folder.path(), state);
    records.stopped();
    records.flush();
    return records::read_run_state(folder.path())->life;
  };
  EXPECT_EQ(after_a_stop(Life::training, "abc"), Life::stopped);
  EXPECT_EQ(after_a_stop(Life::preparing, "abc"), Life::stopped);
  EXPECT_EQ(after_a_stop(Life::finished, "abc"), Life::finished);
  EXPECT_EQ(after_a_stop(Life::training, "another"), Life::training);
}

}  // namespace
}  // namespace troika::commands
