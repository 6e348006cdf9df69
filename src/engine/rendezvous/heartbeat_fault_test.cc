#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "rendezvous/failure_monitor.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/heartbeat.h"
#include "rendezvous/join.h"

namespace troika::rendezvous {
namespace {
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

Identity rank_of(int rank, int size, int port) {
  Identity me;
  me.world_rank = rank;
  me.world_size = size;
  me.store_port = port;
  return me;
}

Heartbeats beats(double limit_seconds, std::function<void(const records::Incident&)> on_failure = {}) {
  Heartbeats heartbeats;
  heartbeats.limit_seconds = limit_seconds;
  heartbeats.on_failure = std::move(on_failure);
  return heartbeats;
}

// A client whose failure report can be waited for.
struct WatchedRank {
  WatchedRank(const Identity& me, double heartbeat_seconds)
      : client(std::make_unique<HeartbeatClient>(me, beats(heartbeat_seconds, [this](const records::Incident& failure) {
                                                   report.set_value(english(failure));
                                                 }))) {}
  std::string wait_for_report() {
    auto future = report.get_future();
    return future.wait_for(std::chrono::seconds(10)) == std::future_status::ready ? future.get()
                                                                                  : "no failure report within 10 s";
  }
  std::promise<std::string> report;
  std::unique_ptr<HeartbeatClient> client;
};

// All ranks join from threads of this process.
void join_all(int size, int port) {
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([=] {
      StoreClient client("127.0.0.1", port, 5);
      announce(client, rank_of(rank, size, port), 10);
      await_all(client, rank_of(rank, size, port), 10);
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(FailureMonitor, ASilentRankIsNamedWithItsHostAndPlace) {
  const StoreServer server(0);
  join_all(3, server.port());
  const FailureMonitor monitor(rank_of(0, 3, server.port()));
  WatchedRank zero(rank_of(0, 3, server.port()), 0.5), one(rank_of(1, 3, server.port()), 0.5);
  {
    Heartbeats last = beats(0.5);
    last.place = [] { return records::Place{12, records::doing_of("recv_act 4.1"), 0.1, 0.2}; };
    const HeartbeatClient two(rank_of(2, 3, server.port()), last);
  }  // stops beating without a word, as a stopped process does
  const double before = base::monotonic_seconds();
  const std::string text = zero.wait_for_report();
  EXPECT_LT(base::monotonic_seconds() - before, 3);
  EXPECT_THAT(text, HasSubstr("rank 2 (host "));
  EXPECT_THAT(
      text, HasSubstr("has been silent for 0.5 s; its last heartbeat came from step 12, recv_act 4.1 (usually 0.2 s)"));
  EXPECT_EQ(one.wait_for_report(), text);
  EXPECT_EQ(one.client->failure_report().english, text);
}

TEST(HeartbeatClient, SaysAtOnceWhereItIs) {
  const StoreServer server(0);
  std::atomic<int> step{0};
  Heartbeats heartbeats = beats(600);  // one a second
  heartbeats.place = [&step] { return records::Place{step, records::doing_of("fwd 0.1")}; };
  HeartbeatClient zero(rank_of(0, 2, server.port()), heartbeats);
  StoreClient client("127.0.0.1", server.port(), 5);
  for (step = 1; step < 4; ++step) {
    zero.beat();
    EXPECT_EQ(parse_heartbeat(client.get("-/0/beat/000000", 5)).place.step, step);
  }
}

TEST(HeartbeatClient, SaysEveryNoticeOnce) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  const Identity me = rank_of(0, 2, server.port());
  std::vector<std::string> heard;
  Heartbeats heartbeats = beats(600);
  heartbeats.on_notice = [&heard](const records::Incident& notice) { heard.push_back(english(notice)); };
  Notices notices;
  const auto say = [&](const std::string& sentence) {
    notices.add(records::told(base::verbatim(sentence)));
    client.set(key_of(me, notices_key), notices.text());
  };
  say("rank 1 is behind");
  {
    HeartbeatClient zero(me, heartbeats);
    zero.beat();
    say("rank 1 continues");
    say("rank 2 is behind");
    zero.beat();
  }
  EXPECT_THAT(heard, testing::ElementsAre("rank 1 is behind", "rank 1 continues", "rank 2 is behind"));
}

// Three ranks of a pipeline of which the last one computes and computes.
TEST(FailureMonitor, ARankThatBlocksIsNamedToAllAndEndsTheRunAfterItsLimit) {
  const StoreServer server(0);
  join_all(3, server.port());
  const FailureMonitor monitor(rank_of(0, 3, server.port()));
  std::vector<std::promise<std::string>> notices(3), reports(3);
  std::vector<std::unique_ptr<HeartbeatClient>> clients;
  for (int rank = 0; rank < 3; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    Heartbeats heartbeats =
        beats(2, [&reports, i](const records::Incident& failure) { reports[i].set_value(english(failure)); });
    heartbeats.stand_limit_seconds = 7;
    heartbeats.place = [rank, stopped = base::monotonic_seconds() - 5] {
      return records::Place{41, records::doing_of(rank == 2 ? "fwd 3.2" : "bwd 1.1"),
                            base::monotonic_seconds() - stopped, 0.2, rank == 2 ? records::waits_for_nobody : rank + 1};
    };
    heartbeats.on_notice = [&notices, i](const records::Incident& notice) { notices[i].set_value(english(notice)); };
    clients.push_back(std::make_unique<HeartbeatClient>(rank_of(rank, 3, server.port()), heartbeats));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    auto notice = notices[i].get_future(), report = reports[i].get_future();
    ASSERT_EQ(notice.wait_for(std::chrono::seconds(10)), std::future_status::ready);
    EXPECT_THAT(notice.get(),
                MatchesRegex("rank 2 \\(host .*\\) is behind: step 41, fwd 3.2 for 5.[0-9]* s \\(usually 0.2 "
                             "s\\); 2 ranks wait for it"));
    ASSERT_EQ(report.wait_for(std::chrono::seconds(10)), std::future_status::ready);
    EXPECT_THAT(report.get(), HasSubstr("comm.timeout_seconds (7) is the limit"));
  }
}

TEST(HeartbeatClient, GoesOnWhenTheStoreIsGone) {
  auto server = std::make_unique<StoreServer>(0);
  HeartbeatClient zero(rank_of(0, 2, server->port()), beats(0.5));
  server.reset();
  const double before = base::monotonic_seconds();
  zero.beat();
  EXPECT_LT(base::monotonic_seconds() - before, 5);
}

TEST(FailureMonitor, ARankThatIsDoneMayBeSilent) {
  const StoreServer server(0);
  const FailureMonitor monitor(rank_of(0, 2, server.port()));
  WatchedRank zero(rank_of(0, 2, server.port()), 0.3);
  HeartbeatClient(rank_of(1, 2, server.port()), beats(0.3)).done();
  auto future = zero.report.get_future();
  EXPECT_EQ(future.wait_for(std::chrono::milliseconds(900)), std::future_status::timeout);
  zero.client->done();
  StoreClient client("127.0.0.1", server.port(), 5);
  const double before = base::monotonic_seconds();
  await_all_done(client, rank_of(0, 2, server.port()), 5);
  EXPECT_LT(base::monotonic_seconds() - before, 1);
}

TEST(FailureMonitor, TheCauseWinsOverItsConsequences) {
  const StoreServer server(0);
  const FailureMonitor monitor(rank_of(0, 3, server.port()));
  WatchedRank zero(rank_of(0, 3, server.port()), 2);
  HeartbeatClient one(rank_of(1, 3, server.port()), beats(2)), two(rank_of(2, 3, server.port()), beats(2));
  one.failed({75, base::verbatim("connection closed by peer")});
  two.failed({3, base::verbatim("shard 7 is truncated")});
  EXPECT_EQ(zero.wait_for_report(), "rank 2 failed: shard 7 is truncated");
  StoreClient client("127.0.0.1", server.port(), 5);
  FailureReport report;
  ASSERT_TRUE(read_failure_report(client, rank_of(0, 3, server.port()), &report));
  EXPECT_EQ(report.exit_code, 3);
}

TEST(FailureMonitor, ARankThatFailedStillHearsTheReport) {
  const StoreServer server(0);
  const FailureMonitor monitor(rank_of(0, 2, server.port()));
  WatchedRank zero(rank_of(0, 2, server.port()), 2);
  HeartbeatClient one(rank_of(1, 2, server.port()), beats(2));
  zero.client->failed({75, base::verbatim("connection closed by peer")});
  one.failed({70, base::verbatim("an index is wrong")});
  EXPECT_EQ(zero.wait_for_report(), "rank 1 failed: an index is wrong");
  EXPECT_EQ(zero.client->failure_report().english, "rank 1 failed: an index is wrong");
}

TEST(FailureReport, TheFirstOneStands) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  const Identity me = rank_of(0, 2, server.port());
  EXPECT_EQ(write_failure_report(client, me, {70, base::verbatim("first")}).text(), "first");
  const FailureReport second = write_failure_report(client, me, {3, base::verbatim("second")});
  EXPECT_EQ(second.text(), "first");
  EXPECT_EQ(second.exit_code, 70);
}

TEST(FailureMonitor, AStoreThatHasEndedIsAFailure) {
  auto server = std::make_unique<StoreServer>(0);
  WatchedRank zero(rank_of(0, 2, server->port()), 0.5);
  server.reset();
  EXPECT_THAT(zero.wait_for_report(), HasSubstr("has ended, along with the launcher or rank 0"));
}

std::string join_error(int rank, int size, int port, double seconds, int local_size) {
  Identity me = rank_of(rank, size, port);
  me.local_size = local_size;
  StoreClient client("127.0.0.1", port, 5);
  try {
    announce(client, me, 10);
    await_all(client, me, seconds);
  } catch (const base::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Join, NamesTheRanksThatNeverCame) {
  const StoreServer server(0);
  EXPECT_THAT(join_error(0, 3, server.port(), 0.2, 1),
              HasSubstr("rank 1 (node 1), rank 2 (node 2) did not join within 0.2 s"));
}

TEST(Join, RefusesTwoProcessesWithOneRank) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  client.set("-/0/join/000000", "other-host\n10.0.0.9\n77\n0\n10");
  EXPECT_THAT(join_error(0, 1, server.port(), 5, 1), HasSubstr("pid 77 on host other-host"));
}

TEST(Join, NonsenseInTheStoreIsAFaultOfThatSide) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  for (const char* nonsense : {"", "desk", "desk\n127.0.0.1\n1\n0\nsoon", "\n\n\n\n"}) {
    try {
      parse_peer(nonsense);
      FAIL() << nonsense;
    } catch (const base::PeerError& error) {
      EXPECT_THAT(error.what(), HasSubstr("where a rank registers itself"));
    }
  }
  client.set("-/0/join/000001", "nonsense");
  EXPECT_THROW(announce(client, rank_of(1, 2, server.port()), 10), base::PeerError);
  EXPECT_THROW(await_all(client, rank_of(0, 2, server.port()), 5), base::PeerError);
}

TEST(Join, NamesTheTwoThatCameAsOneRankWhereAnotherIsMissing) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  client.set("-/0/join/000001", "other-host\n127.0.0.1\n77\n1\n10");
  EXPECT_THAT(join_error(1, 3, server.port(), 5, 1), HasSubstr("two processes claim rank 1: this one"));
  const std::string error = join_error(0, 3, server.port(), 0.2, 1);
  EXPECT_THAT(error, HasSubstr("two processes claim rank 1: one (host "));
  EXPECT_THAT(error, HasSubstr("and pid 77 on host other-host"));
  EXPECT_THAT(error, HasSubstr("rank 2 (node 2) did not join within 0.2 s"));
}

TEST(Join, RefusesALoopbackAddressAmongOthers) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  client.set("-/0/join/000001", "pi\n10.0.0.9\n77\n1\n10");
  EXPECT_THAT(join_error(0, 2, server.port(), 5, 1),
              HasSubstr("rank 0 is known as 127.0.0.1, which rank 1 at 10.0.0.9 cannot reach"));
}

TEST(Join, RanksLearnFromRankZeroThatAllCame) {
  const StoreServer server(0);
  const Identity zero = rank_of(0, 2, server.port()), one = rank_of(1, 2, server.port());
  StoreClient client("127.0.0.1", server.port(), 5);
  auto joined = std::async(std::launch::async, [&] { return join_error(1, 2, server.port(), 20, 1); });
  client.get(key_of(one, "join/000001"), 10);
  EXPECT_EQ(join_error(0, 2, server.port(), 20, 1), "no error");
  EXPECT_EQ(joined.get(), "no error");
}

TEST(Join, EndsWithTheFailureReport) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  write_failure_report(client, rank_of(0, 2, server.port()), {2, base::verbatim("rank 1 failed: no such file")});
  EXPECT_EQ(join_error(0, 2, server.port(), 30, 1), "rank 1 failed: no such file");
}

}  // namespace
}  // namespace troika::rendezvous
