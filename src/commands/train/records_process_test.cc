// The records that runs and launchers leave for those who watch and ask.
#include <signal.h>
#include <unistd.h>

#include "base/await_test_support.h"
#include "commands/train/program_test_support.h"
#include "records/run_reader.h"

namespace troika::commands {
using records::EventKind;
using records::Life;
using ::testing::HasSubstr;

namespace {

std::vector<EventKind> kinds_of(const records::RunReader& run) {
  std::vector<EventKind> kinds;
  for (const records::Event& event : run.events()) kinds.push_back(event.kind);
  return kinds;
}

Words on_host(int node, int port, const Words& train) {
  return troika(Words{"launch", "--nnodes", "2", "--node-rank", std::to_string(node), "--master-addr", "127.0.0.1",
                      "--master-port", std::to_string(port), "--nproc-per-node", "1", "--"} +
                train);
}

}  // namespace

TEST(RunRecords, HostZeroHasTheSamplesAndTheErrorsOfAllHosts) {
  const Folder folder;
  const std::string corpus = write_corpus(folder), zero = folder / "zero", one = folder / "one";
  const int port = free_port();
  const auto words = [&](int node, const std::string& out) {
    return on_host(node, port,
                   small_run(corpus, out) + Words{"--dp", "2", "--steps", "4000", "--log.sample-seconds", "0.5"});
  };
  Program first(words(0, zero)), second(words(1, one));
  await_step(zero, 20);
  records::RunReader of_zero(zero), of_one(one);
  EXPECT_TRUE(base::await(patience_seconds, [&] {
    of_zero.refresh();
    return of_zero.samples().size() == 2 && of_zero.samples().at(1).size() > 1;
  }));
  const pid_t killed = second.rank(1);
  ASSERT_GT(killed, 0);
  ::kill(killed, SIGKILL);
  EXPECT_NE(first.wait().code, 0);
  EXPECT_NE(second.wait().code, 0);

  of_zero.refresh();
  of_one.refresh();
  ASSERT_TRUE(of_zero.state());
  EXPECT_EQ(of_zero.state()->life, Life::failed);
  EXPECT_THAT(of_zero.state()->text, HasSubstr("killed by signal 9"));
  EXPECT_EQ(of_zero.state()->ranks.size(), 2U);
  ASSERT_EQ(of_zero.samples().size(), 2U);
  EXPECT_GT(of_zero.samples().at(1).size(), 1U);
  EXPECT_EQ(of_one.samples().size(), 1U);
  const auto ended = std::find_if(of_zero.events().begin(), of_zero.events().end(), [](const records::Event& event) {
    return event.kind == EventKind::rank_ended && event.rank == 1;
  });
  ASSERT_NE(ended, of_zero.events().end());
  EXPECT_EQ(ended->number("signal"), SIGKILL);
}

TEST(RunRecords, RunThatEndsWellSaysSo) {
  const Folder folder;
  const std::string out = folder / "run";
  EXPECT_EQ(run(launch(2, small_run(write_corpus(folder), out) + Words{"--pp", "2"})).code, 0);
  records::RunReader run(out);
  run.refresh();
  ASSERT_TRUE(run.state());
  EXPECT_EQ(run.state()->life, Life::finished);
  EXPECT_EQ(run.state()->pp, 2);
  EXPECT_GT(run.state()->flops_per_step, 0);
  EXPECT_THAT(kinds_of(run),
              testing::ElementsAre(EventKind::launch, EventKind::start, EventKind::save, EventKind::finish));
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_FALSE(run.samples().at(rank).empty());
    const records::Sample& last = run.samples().at(rank).back();
    EXPECT_GT(last.phases.at("forward"), 0);
    EXPECT_GT(last.phases.at("backward"), 0);
    ASSERT_EQ(last.traffic.size(), 1U);
    EXPECT_EQ(last.traffic[0].peer, 1 - rank);
    EXPECT_GT(last.traffic[0].sent_bytes, 0);
    EXPECT_GT(last.memory.at("parameters"), 0);
    EXPECT_EQ(last.vitals.has_value(), rank == 0);
  }
  EXPECT_THAT(base::read_file(out + "/run.log"), HasSubstr("step 20/20"));
}

TEST(RunRecords, ARunAloneRecordsWithoutALauncher) {
  const Folder folder;
  const std::string out = folder / "run";
  EXPECT_EQ(run(troika(small_run(write_corpus(folder), out))).code, 0);
  records::RunReader run(out);
  run.refresh();
  ASSERT_TRUE(run.state());
  EXPECT_EQ(run.state()->life, Life::finished);
  EXPECT_FALSE(run.samples().at(0).empty());
}

TEST(RunRecords, ARunThatIsRefusedLeavesTheRecordsOfTheOneUnderWayAlone) {
  const Folder folder;
  const std::string corpus = write_corpus(folder), out = folder / "run";
  Program first(launch(2, small_run(corpus, out) + Words{"--steps", "4000"}));
  await_step(out, 5);
  EXPECT_EQ(run(launch(2, small_run(corpus, out))).code, 2);
  records::RunReader run(out);
  run.refresh();
  EXPECT_EQ(run.state()->life, Life::training);
  EXPECT_THAT(kinds_of(run), testing::ElementsAre(EventKind::launch, EventKind::start));
  first.signal(SIGINT);
  first.wait();
}

}  // namespace troika::commands
