#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "comm/channel_test_support.h"
#include "comm/collectives.h"
#include "comm/faulty_channel_test_support.h"
#include "comm/rank_channels.h"
#include "comm/tcp_greeting.h"
#include "comm/threads_channel_test_support.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/socket.h"
#include "rendezvous/store.h"
#include "tensor/operations.h"

namespace troika::comm {
namespace {
using base::monotonic_seconds;
using tensor::Dtype;
using tensor::Tensor;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

Tensor bytes(std::int64_t count) { return tensor::zeros({count}, Dtype::uint8); }

std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const base::PeerError& error) {
    return error.what();
  }
  return "no failure";
}

// The text of each rank's failure when `body` runs on both.
std::vector<std::string> failures(std::vector<std::unique_ptr<Channel>>& channels,
                                  const std::function<void(Channel&)>& body) {
  std::vector<std::string> texts(channels.size());
  run_ranks(channels, [&](Channel& channel) {
    texts[static_cast<std::size_t>(channel.rank())] = failure_of([&] { body(channel); });
  });
  return texts;
}

void ping(Channel& channel) {
  const Tensor tensor = bytes(8);
  if (channel.rank() == 0)
    channel.send(tensor, 1, 1).wait();
  else
    channel.recv(tensor, 0, 1).wait();
}

TEST(ThreadsChannel, NamesBothSizesWhenTheyDiffer) {
  auto channels = make_thread_channels(2, "dp0", 5);
  const auto texts = failures(channels, [](Channel& channel) {
    const Tensor tensor = bytes(8 + channel.rank());
    if (channel.rank() == 0)
      channel.send(tensor, 1, 1).wait();
    else
      channel.recv(tensor, 0, 1).wait();
  });
  EXPECT_THAT(texts[0], HasSubstr("group 'dp0' failed: rank 0 sends 8 bytes but rank 1 receives 9"));
  EXPECT_THAT(texts[1], HasSubstr("rank 0 sends 8 bytes but rank 1 receives 9"));
}

TEST(ThreadsChannel, AFailureSpreadsToThePeers) {
  auto channels = make_thread_channels(2, "dp0", 0.2);
  const Tensor tensor = bytes(8);
  EXPECT_THAT(failure_of([&] { channels[0]->recv(tensor, 1, 1).wait(); }), HasSubstr("within 0.2 s"));
  EXPECT_THAT(failure_of([&] { channels[1]->send(tensor, 0, 1).wait(); }), HasSubstr("rank 0 has given up"));
}

TEST(ThreadsChannel, ASlowLinkCarriesMessagesOneAfterAnother) {
  auto channels = make_thread_channels(2, "slow", 5, {1e6, 0.01});
  const double before = monotonic_seconds();
  run_ranks(channels, [](Channel& channel) {
    const int peer = 1 - channel.rank();
    std::vector<Tensor> tensors;
    std::vector<Transfer> transfers;
    for (std::uint32_t tag = 0; tag < 2; ++tag) {  // both ways at once: 2 x 50 kB each
      tensors.push_back(bytes(50000));
      transfers.push_back(channel.recv(tensors.back(), peer, tag));
      tensors.push_back(bytes(50000));
      transfers.push_back(channel.send(tensors.back(), peer, tag));
    }
    for (Transfer& transfer : transfers) transfer.wait();
  });
  EXPECT_GT(monotonic_seconds() - before, 0.109);
  EXPECT_LT(monotonic_seconds() - before, 0.5);
}

class MemoryChannel : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(memory_can_be_read()) << "process_vm_readv does not work here"; }
};

TEST_F(MemoryChannel, NamesBothSizesWhenTheyDiffer) {
  auto channels = make_memory_channels(2, 5);
  const auto texts = failures(channels, [](Channel& channel) {
    const Tensor tensor = bytes(8 + channel.rank());
    if (channel.rank() == 0)
      channel.send(tensor, 1, 1).wait();
    else
      channel.recv(tensor, 0, 1).wait();
  });
  EXPECT_THAT(texts[0], HasSubstr("rank 1 has posted another size"));
  EXPECT_THAT(texts[1], HasSubstr("rank 0 sends 8 bytes but rank 1 receives 9"));
}

TEST_F(MemoryChannel, TakesMoreMessagesThanItsBoxHasLinesAndSheetsFor) {
  auto channels = make_memory_channels(2, 20);
  constexpr std::int64_t messages = 9000;
  run_ranks(channels, [](Channel& channel) {
    std::vector<Tensor> tensors;
    std::vector<Transfer> transfers;
    for (std::int64_t i = 0; i < messages; ++i) {
      const std::int64_t size = i % 1000 == 7 ? 3000 : i % 5;
      const bool sends = channel.rank() == 0;
      tensors.push_back(tensor::full({size}, static_cast<double>(sends ? i : -1), Dtype::int64));
      const auto tag = static_cast<std::uint32_t>(i % 3);
      transfers.push_back(sends ? channel.send(tensors.back(), 1, tag) : channel.recv(tensors.back(), 0, tag));
    }
    for (Transfer& transfer : transfers) transfer.wait();
    for (std::int64_t i = 0; i < messages; ++i) {
      const Tensor& one = tensors[static_cast<std::size_t>(i)];
      EXPECT_TRUE(tensor::equal(one, tensor::full(one.sizes(), static_cast<double>(i), Dtype::int64))) << i;
    }
  });
}

TEST_F(MemoryChannel, AMessageThatItsSenderGaveUpIsNotRead) {
  auto channels = make_memory_channels(2, 0.3);
  {
    const Tensor large = bytes(1 << 20);
    EXPECT_THAT(failure_of([&] { channels[0]->send(large, 1, 1).wait(); }), HasSubstr("within 0.3 s"));
  }
  const Tensor into = bytes(1 << 20);
  EXPECT_THAT(failure_of([&] { channels[1]->recv(into, 0, 1).wait(); }), HasSubstr("rank 0 has given up"));
}

TEST(FaultyChannel, FailsDropsAndDelaysTheMessageItWasTold) {
  for (const auto kind : {Fault::Kind::fail, Fault::Kind::drop}) {
    auto channels = make_thread_channels(2, "world", 0.3);
    channels[0] = faulty(std::move(channels[0]), {{kind, 2, 0}}, 0.3);
    EXPECT_EQ(failures(channels, ping)[1], "no failure");
    EXPECT_EQ(failures(channels, ping)[1], "no failure");
    const auto texts = failures(channels, ping);
    EXPECT_THAT(texts[0], HasSubstr(kind == Fault::Kind::fail ? "the test wanted it" : "no failure"));
    EXPECT_THAT(texts[1], HasSubstr("within 0.3 s"));
  }
  auto channels = make_thread_channels(2, "world", 5);
  channels[0] = faulty(std::move(channels[0]), {{Fault::Kind::delay, 0, 0.1}}, 5);
  const double before = monotonic_seconds();
  EXPECT_EQ(failures(channels, ping)[1], "no failure");
  EXPECT_GT(monotonic_seconds() - before, 0.09);
}

TEST(FaultyChannel, AKilledRankIsNoticedAtOnceAndASilentOneByTheDeadlineOrAbort) {
  auto channels = make_thread_channels(2, "world", 20);
  channels[0] = faulty(std::move(channels[0]), {{Fault::Kind::kill, 1, 0}}, 20);
  EXPECT_EQ(failures(channels, ping)[1], "no failure");
  const auto killed = failures(channels, ping);
  EXPECT_THAT(killed[0], HasSubstr("killed by the test"));
  EXPECT_THAT(killed[1], HasSubstr("rank 0 has left"));

  channels = make_thread_channels(2, "world", 0.2);
  channels[0] = faulty(std::move(channels[0]), {{Fault::Kind::silent, 0, 0}}, 20);
  std::thread guard([&] { channels[0]->abort(base::verbatim("rank 0 is silent")); });
  const auto silent = failures(channels, ping);
  guard.join();
  EXPECT_THAT(silent[0], HasSubstr("rank 0 is silent"));
  EXPECT_THAT(silent[1], HasSubstr("within 0.2 s"));
}

TEST(FlightLog, TellsTheLastOperationsAndHowTheyEnded) {
  const auto log = std::make_shared<FlightLog>(3);
  auto channels = make_thread_channels(2, "pp0", 0.2);
  channels[0] = logged(std::move(channels[0]), log);
  EXPECT_EQ(log->report(0).english, "last operations of rank 0: none");
  for (int i = 0; i < 3; ++i) run_ranks(channels, ping);
  const Tensor tensor = bytes(2048), other = bytes(1);
  EXPECT_NE(failure_of([&] {
              const Transfer unwaited = channels[0]->recv(other, 1, 0x42);
              channels[0]->recv(tensor, 1, 0x41).wait();
            }),
            "no failure");
  EXPECT_THAT(log->report(0).english, MatchesRegex("last operations of rank 0:\n"
                                           "  #2 .* ago  pp0 send to 1 tag 0x1 8 B: done after .*\n"
                                           "  #3 .* ago  pp0 recv from 1 tag 0x42 1 B: not done\n"
                                           "  #4 .* ago  pp0 recv from 1 tag 0x41 2.00 KiB: FAILED after .*"));
}

rendezvous::Identity identity(int rank, int size, int port) {
  rendezvous::Identity me;
  me.world_rank = rank;
  me.world_size = size;
  me.store_port = port;
  return me;
}

TEST(TcpChannel, BuildsSeveralGroupsOverOneDeviceAndNamesWorldRanks) {
  const rendezvous::StoreServer server(0);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&, rank] {
      TcpTransport transport(identity(rank, 4, server.port()), {"", 20});
      const auto world = transport.group("world", {0, 1, 2, 3});
      const auto pair =
          transport.group(rank < 2 ? "dp0" : "dp1", rank < 2 ? std::vector<int>{0, 1} : std::vector<int>{2, 3});
      const auto again = transport.group("world", {0, 1, 2, 3});
      EXPECT_EQ(transport.group("self", {rank})->size(), 1);
      std::vector<std::int64_t> sum = {rank};
      sum_integers(*pair, sum);
      EXPECT_EQ(sum[0], rank < 2 ? 1 : 5);
      sum_integers(*again, sum);
      EXPECT_EQ(sum[0], 12);
      barrier(*world);
      if (rank == 2) pair->abort(base::verbatim("enough"));
      const Tensor tensor = bytes(4);
      const std::string text = rank == 2 ? failure_of([&] { pair->recv(tensor, 1, 5).wait(); }) : "";
      if (rank == 2) {
        EXPECT_THAT(text, HasSubstr("from rank 3 (tag 0x5) in group 'dp1' failed: enough"));
      }
      barrier(*world);
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

// Ranks of a world of two, each on a thread.
void over_tcp(const TcpSettings& settings, const std::function<void(Channel&)>& body) {
  const rendezvous::StoreServer server(0);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      TcpTransport transport(identity(rank, 2, server.port()), settings);
      const auto world = transport.group("world", {0, 1});
      body(*world);
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

constexpr double endless = std::numeric_limits<double>::infinity();

TEST(TcpChannel, AWaitWithoutEndOutlivesTheDeadlineOfConnecting) {
  over_tcp({"", 1, endless}, [](Channel& world) {
    const Tensor tensor = bytes(8);
    std::vector<std::int64_t> sum = {1};
    if (world.rank() == 0) {
      const double before = monotonic_seconds();
      world.recv(tensor, 1, 1).wait();
      EXPECT_GT(monotonic_seconds() - before, 2);
    } else {
      std::mutex mutex;
      std::unique_lock<std::mutex> lock(mutex);
      std::condition_variable nobody;
      nobody.wait_for(lock, std::chrono::milliseconds(2500), [] { return false; });
      world.send(tensor, 0, 1).wait();
    }
    sum_integers(world, sum);
    EXPECT_EQ(sum[0], 2);
  });
}

TEST(TcpChannel, AWaitWithoutEndEndsWithAnAbortAndWithTheConnection) {
  over_tcp({"", 30, endless}, [](Channel& world) {
    const Tensor tensor = bytes(8);
    barrier(world);
    const double before = monotonic_seconds();
    if (world.rank() == 1) {
      std::thread other([&] { world.abort(base::verbatim("rank 0 stands still")); });
      EXPECT_THAT(failure_of([&] { world.recv(tensor, 0, 1).wait(); }), HasSubstr("rank 0 stands still"));
      other.join();
    } else {  // rank 1 goes, and its connections with it
      EXPECT_THAT(failure_of([&] { world.recv(tensor, 1, 1).wait(); }), HasSubstr("recv of 8 B from rank 1"));
    }
    EXPECT_LT(monotonic_seconds() - before, 10);
  });
}

TEST(TcpChannel, NamesBothSizesWhenTheyDiffer) {
  over_tcp({"", 20, 5}, [](Channel& world) {
    const Tensor tensor = bytes(8 + world.rank());
    const std::string text = failure_of([&] {
      if (world.rank() == 0)
        world.send(tensor, 1, 1).wait();
      else
        world.recv(tensor, 0, 1).wait();
    });
    EXPECT_THAT(text, HasSubstr("rank 0 sends 8 bytes but rank 1 receives 9"));
  });
}

// Ways of one who is of no launch: noise, silence, a greeting with a proof of nothing, a greeting with another secret.
void disturb(int port, const TcpCall& call, int way) {
  rendezvous::Socket socket;
  base::Text cause;
  const double until = monotonic_seconds() + 5;
  ASSERT_TRUE(socket.connect("127.0.0.1", port, until, &cause)) << cause.english;
  if (way == 0) {
    socket.send_all(std::string(300, '\x07'), until);
  } else if (way == 1) {
    socket.send_all("TROIKAm1" + std::string(rendezvous::nonce_bytes, 'n') + std::string(200, '\0'), until);
  } else if (way == 2) {
    EXPECT_EQ(greet(socket, "another secret than theirs", call, until), Greeted::foreign);
  }
}

TEST(TcpChannel, AStrangerTakesNoSeatWhileGroupsAreBuiltAndDisturbsNoMessage) {
  for (const std::string secret : {"", "nobody else knows this"}) {
    const rendezvous::Access access{"launch-7", secret};
    const rendezvous::StoreServer server(0, rendezvous::Reach::this_host, access, {});
    std::vector<std::thread> ranks;
    std::atomic<bool> ended{false};
    std::atomic<int> tries{0};
    const auto of_launch = [&](int rank) {
      rendezvous::Identity me = identity(rank, 2, server.port());
      me.launch = "launch-7";
      me.secret = secret;
      return me;
    };
    std::thread stranger([&] {
      rendezvous::StoreClient client(of_launch(0), 20);
      const std::string at = client.get(rendezvous::key_of(of_launch(0), "tcp/0"), 20);
      const int port = std::stoi(at.substr(0, at.find(' ')));
      for (int way = 0; !ended; way = (way + 1) % 4, ++tries)
        disturb(port, {rendezvous::key_of(of_launch(0), fmt::format("world/{}/0", tries % 30)), 1, 0}, way);
    });
    std::vector<std::unique_ptr<TcpTransport>> transports(2);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      transports[rank] = std::make_unique<TcpTransport>(of_launch(static_cast<int>(rank)), TcpSettings{"", 20, 20});
      ranks.emplace_back([&, rank] {
        for (int round = 0; round < 30; ++round) {
          const auto world = transports[rank]->group("world", {0, 1});
          for (int i = 0; i < 20; ++i) {
            std::vector<std::int64_t> sum = {static_cast<std::int64_t>(rank) + 1};
            sum_integers(*world, sum);
            EXPECT_EQ(sum[0], 3);
          }
          barrier(*world);
        }
      });
    }
    for (std::thread& rank : ranks) rank.join();
    ended = true;
    stranger.join();
    EXPECT_GT(tries, 10);
  }
}

TEST(TcpChannel, ARankOfAnotherSecretIsNamed) {
  const rendezvous::StoreServer server(0);
  rendezvous::Identity zero = identity(0, 2, server.port());
  TcpTransport transport(zero, {"", 20});
  rendezvous::StoreClient client(zero, 5);
  const std::string at = client.get(rendezvous::key_of(zero, "tcp/0"), 5);
  rendezvous::Socket socket;
  base::Text cause;
  const double until = monotonic_seconds() + 5;
  ASSERT_TRUE(socket.connect("127.0.0.1", std::stoi(at), until, &cause)) << cause.english;
  EXPECT_EQ(greet(socket, "some secret of another", {"world", 1, 0}, until), Greeted::foreign);
}

TEST(LoggedChannel, MarksForWhomARankWaits) {
  const auto mark = std::make_shared<WaitMark>(WaitMark::Of::this_thread);
  auto channels = make_thread_channels(2, "dp3", 20);
  const auto zero = logged(std::move(channels[0]), std::make_shared<FlightLog>(3), mark, nullptr, {3, 7});
  EXPECT_EQ(mark->read().peer, WaitMark::nobody);
  const double before = monotonic_seconds();
  std::thread one([&] {
    while (mark->read().peer != 7) ASSERT_LT(monotonic_seconds() - before, 20);
    EXPECT_GE(mark->read().since, before);
    channels[1]->send(bytes(8), 0, 1).wait();
  });
  zero->recv(bytes(8), 1, 1).wait();
  one.join();
  EXPECT_EQ(mark->read().peer, WaitMark::nobody);
}

TEST(TcpChannel, AFailureReportEndsTheBuildingOfAGroup) {
  const rendezvous::StoreServer server(0);
  rendezvous::StoreClient client("127.0.0.1", server.port(), 5);
  TcpTransport transport(identity(0, 2, server.port()), {"", 30});
  rendezvous::write_failure_report(client, identity(0, 2, server.port()),
                                   {2, base::verbatim("rank 1 failed: no such file")});
  const double before = monotonic_seconds();
  EXPECT_THAT(failure_of([&] { transport.group("world", {0, 1}); }), HasSubstr("rank 1 failed: no such file"));
  EXPECT_LT(monotonic_seconds() - before, 3);
}

TEST(TcpChannel, AnUnknownInterfaceIsASettingToFix) {
  const rendezvous::StoreServer server(0);
  EXPECT_THROW(TcpTransport(identity(0, 2, server.port()), {"nosuchnic0", 5}), base::ConfigError);
}

}  // namespace
}  // namespace troika::comm
