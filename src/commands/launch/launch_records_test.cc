#include "commands/launch/launch_records.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "base/host_name.h"
#include "base/temporary_folder_test_support.h"
#include "host/process.h"
#include "records/line_file.h"
#include "records/run_reader.h"
#include "records/run_state.h"

namespace troika::commands {
namespace {

// A run's own, as ranks hold it.
class Lock {
 public:
  explicit Lock(const std::string& folder)
      : descriptor_(::open((folder + "/run.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    EXPECT_EQ(::fcntl(descriptor_, F_OFD_SETLK, &whole), 0);
  }
  ~Lock() { ::close(descriptor_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  const int descriptor_;
};

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

std::size_t events_in(const std::string& folder) {
  records::RunReader run(folder);
  run.refresh();
  return run.events().size();
}

// A run that began before this launch and had not taken its folder yet.
TEST(LaunchRecords, OfALaunchWhoseFolderAnotherRunTakesAreNotWritten) {
  const base::TemporaryFolder folder;
  {
    LaunchRecords records(folder.path(), 1);
    records.attempt_begins(0, "second", "2 ranks");
    {
      const Lock lock(folder.path());  // before its ranks say whose run it is
      records.failed({2, "another run writes to the folder"});
      records.flush();
      EXPECT_EQ(events_in(folder.path()), 0u);
      records::RunState state;
      state.launch = "first";
      records::write_run_state(folder.path(), state);
      records.said(records::EventKind::stop, "x");
      records.flush();
      EXPECT_EQ(events_in(folder.path()), 0u);
      state.launch = "second";
      records::write_run_state(folder.path(), state);
      records.flush();
      EXPECT_EQ(events_in(folder.path()), 2u) << "what its own ranks held";
    }
  }
  EXPECT_EQ(events_in(folder.path()), 2u);
}

TEST(LaunchRecords, OfALaunchBesideALauncherThatLivesWaitUntilTheFolderIsIts) {
  const base::TemporaryFolder folder;
  records::Event other;
  other.kind = records::EventKind::launch;
  other.host = base::host_name();
  other.numbers = {{"pid", ::getppid()}, {"process_start", static_cast<double>(host::process_start(::getppid()))}};
  records::LineWriter(records::events_path(folder.path())).append(records::to_json(other));
  {
    LaunchRecords records(folder.path(), 0);
    records.attempt_begins(0, "second", "2 ranks");
    records.failed({2, "another run writes to the folder"});
  }
  EXPECT_EQ(events_in(folder.path()), 1u);
  records::RunState state;
  state.launch = "second";
  records::write_run_state(folder.path(), state);
  LaunchRecords records(folder.path(), 0);
  records.attempt_begins(0, "second", "2 ranks");
  records.flush();
  EXPECT_EQ(events_in(folder.path()), 2u);
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
