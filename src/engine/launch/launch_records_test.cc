#include "launch/launch_records.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/host_name.h"
#include "base/temporary_folder_test_support.h"
#include "host/process.h"
#include "records/folder_lock.h"
#include "records/run_reader.h"
#include "records/run_state.h"

namespace troika::launch {
namespace {

// A run's own, as ranks hold it.
class Lock {
 public:
  Lock(const std::string& folder, const std::string& launch) : lock_(records::run_lock_path(folder)) {
    EXPECT_TRUE(lock_.take(records::this_process("a run", launch)));
  }

 private:
  records::FolderLock lock_;
};

TEST(LaunchRecords, SayWhichProcessLaunches) {
  const base::TemporaryFolder folder;
  for (const int node : {1, 0}) {
    LaunchRecords records(folder.path(), node);
    records.attempt_begins(0, "abc", base::verbatim("2 ranks"));
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

TEST(LaunchRecords, OfALaunchWhoseFolderIsAnothersAreNeverWritten) {
  const base::TemporaryFolder folder;
  {
    LaunchRecords first(folder.path(), 0);
    first.attempt_begins(0, "first", base::verbatim("2 ranks"));
    first.flush();
    ASSERT_TRUE(first.claimed()());
    LaunchRecords second(folder.path(), 1);  // of another host that shares the disk, as well
    second.attempt_begins(0, "second", base::verbatim("2 ranks"));
    second.failed({2, base::verbatim("another run writes to the folder")});
    second.flush();
    EXPECT_FALSE(second.claimed()());
    {
      const Lock lock(folder.path(), "first");
      LaunchRecords host(folder.path() + "/", 1);
      EXPECT_EQ(host.folder(), "") << "a run is under way";
    }
    second.said(records::EventKind::stop, base::verbatim("x"));
    second.flush();
    EXPECT_EQ(events_in(folder.path()), 1u);
  }
  EXPECT_EQ(events_in(folder.path()), 1u) << "nor when the first one has ended";
}

TEST(LaunchRecords, AreClaimedByAllHostsOfALaunchThatShareTheFolder) {
  const base::TemporaryFolder folder;
  LaunchRecords host0(folder.path(), 0), host1(folder.path(), 1);
  host0.attempt_begins(0, "abc", base::verbatim("2 ranks"));
  host0.flush();
  const Lock of_its_ranks(folder.path(), "abc");
  host1.attempt_begins(0, "abc", base::verbatim("2 ranks"));
  host1.failed({75, base::verbatim("x")});
  host1.flush();
  EXPECT_EQ(events_in(folder.path()), 2u);
}

// On another host it was the other launch that came second, and was refused.
TEST(LaunchRecords, OfALaunchWhoseRanksHoldTheFolderInTheEndAreWritten) {
  const base::TemporaryFolder folder;
  LaunchRecords first(folder.path(), 1);
  {
    LaunchRecords other(folder.path(), 1);
    other.attempt_begins(0, "other", base::verbatim("2 ranks"));
    other.flush();
    first.attempt_begins(0, "first", base::verbatim("2 ranks"));
    first.failed({75, base::verbatim("x")});
    first.flush();
    EXPECT_FALSE(first.claimed()());
  }
  first.flush();
  EXPECT_FALSE(first.claimed()()) << "it may be after another run's end";
  const Lock of_its_ranks(folder.path(), "first");
  first.flush();
  EXPECT_TRUE(first.claimed()());
  EXPECT_EQ(events_in(folder.path()), 1u);
}

// Host 0 was lost, and this host joins its next launch.
TEST(LaunchRecords, OfALauncherThatJoinsAnotherLaunchAreOfThatOne) {
  const base::TemporaryFolder folder;
  LaunchRecords host1(folder.path(), 1);
  for (const char* launch : {"first", "next"}) {
    host1.attempt_begins(0, launch, base::verbatim("2 ranks"));
    host1.failed({75, base::verbatim(launch)});
    host1.flush();
    EXPECT_TRUE(records::lock_holder(records::launch_lock_path(folder.path()))->is_of(launch));
  }
  EXPECT_EQ(events_in(folder.path()), 2u);
}

TEST(LaunchRecords, HaveTheReportAndNotTheWordsOfARankThatFailedMeanwhile) {
  const base::TemporaryFolder folder;
  LaunchRecords records(folder.path(), 0);
  const Lock of_its_ranks(folder.path(), "abc");
  const auto text_after = [&](int attempt_of_the_rank) {
    records.failed({75, base::verbatim("rank 1 was killed")});
    records.flush();
    records::RunState of_a_rank;
    of_a_rank.launch = "abc";
    of_a_rank.attempt = attempt_of_the_rank;
    of_a_rank.text = "rank 1 does not answer";
    records::write_run_state(folder.path(), of_a_rank);
    records.has_failed({75, base::verbatim("rank 1 was killed")});
    records.flush();
    return records::read_run_state(folder.path())->text;
  };
  records.attempt_begins(2, "abc", base::verbatim("2 ranks"));
  EXPECT_EQ(text_after(2), "rank 1 was killed");
  EXPECT_EQ(text_after(3), "rank 1 does not answer") << "which is of the next attempt";
}

// Ranks without a launcher, which came between.
TEST(LaunchRecords, OfALaunchThatFindsARunAreNotWritten) {
  const base::TemporaryFolder folder;
  LaunchRecords records(folder.path(), 0);
  const Lock of_others(folder.path(), "");
  records.attempt_begins(0, "abc", base::verbatim("2 ranks"));
  records.flush();
  EXPECT_FALSE(records.claimed()());
  EXPECT_EQ(events_in(folder.path()), 0u);
}

TEST(LaunchRecords, SayThatARunHasStoppedWhoseRanksCouldNot) {
  const base::TemporaryFolder folder;
  records::RunState state;
  state.life = records::Life::training;
  state.launch = "abc";
  records::write_run_state(folder.path(), state);
  for (const char* launch : {"other", "abc"}) {
    LaunchRecords records(folder.path(), 0);
    records.attempt_begins(0, launch, base::verbatim("2 ranks"));
    records.ended_at_once(base::verbatim("ended at once"));
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
  records.attempt_begins(0, "abc", base::verbatim("2 ranks"));
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
}  // namespace troika::launch
