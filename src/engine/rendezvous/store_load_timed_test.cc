// Many clients of one store, and hostile ones.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "rendezvous/heartbeat.h"
#include "rendezvous/failure_monitor.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/join.h"
#include "rendezvous/store.h"
#include "rendezvous/wire.h"

namespace troika::rendezvous {
namespace {

Identity rank_of(int rank, int ranks, int port) {
  Identity me;
  me.world_rank = rank;
  me.world_size = ranks;
  me.store_port = port;
  return me;
}

// A store and a monitor in a process of their own, so that what they take can be seen apart.
class StoreProcess {
 public:
  StoreProcess(int ranks, bool monitored) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const StoreServer server(0, Reach::this_host, {}, StoreLimits::of(ranks));
      const int port = server.port();
      std::unique_ptr<FailureMonitor> monitor;
      if (monitored) monitor = std::make_unique<FailureMonitor>(rank_of(0, ranks, port));
      if (::write(ends[1], &port, sizeof port) != sizeof port) ::_exit(1);
      ::pause();
    }
    EXPECT_EQ(::read(ends[0], &port_, sizeof port_), static_cast<ssize_t>(sizeof port_));
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~StoreProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  StoreProcess(const StoreProcess&) = delete;
  StoreProcess& operator=(const StoreProcess&) = delete;

  int port() const { return port_; }
  double cpu_seconds() const {  // exact: /proc counts in steps of 10 ms
    clockid_t clock{};
    timespec time{};
    EXPECT_EQ(::clock_getcpuclockid(pid_, &clock), 0);
    EXPECT_EQ(::clock_gettime(clock, &time), 0);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double peak_mib() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(file, line);)
      if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;
    return -1;
  }

 private:
  pid_t pid_ = -1;
  int port_ = 0;
};

void allow_files(rlim_t count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(std::max(limit.rlim_cur, count), limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(StoreLoad, FourThousandRanksJoinWithinTenSecondsAndBeatForATenthOfACore) {
  constexpr int ranks = 4096, threads = 8;
  allow_files(ranks + 256);
  const StoreProcess store(ranks, true);
  std::vector<std::unique_ptr<StoreClient>> clients(ranks);
  const auto for_all = [&](const auto& body) {
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread) {
      all.emplace_back([&, thread] {
        for (int rank = thread; rank < ranks; rank += threads) body(rank);
      });
    }
    for (std::thread& thread : all) thread.join();
  };
  const double began = base::monotonic_seconds();
  for_all([&](int rank) {
    const Identity me = rank_of(rank, ranks, store.port());
    clients[static_cast<std::size_t>(rank)] = std::make_unique<StoreClient>(me, 60);
    announce(*clients[static_cast<std::size_t>(rank)], me, 10);
  });
  await_all(*clients[0], rank_of(0, ranks, store.port()), 60);
  for_all([&](int rank) {
    if (rank > 0) await_all(*clients[static_cast<std::size_t>(rank)], rank_of(rank, ranks, store.port()), 60);
  });
  const double joined = base::monotonic_seconds() - began;
  EXPECT_LT(joined, 10);

  constexpr int seconds = 3;
  double plain = 0, spent = 0;  // plain: what as many of the least requests take this machine in the same seconds
  for (int second = 0; second < seconds; ++second) {
    const double until = base::monotonic_seconds() + 1;
    double before = store.cpu_seconds();
    for_all([&](int rank) { clients[static_cast<std::size_t>(rank)]->set("plain/" + std::to_string(rank), "beat"); });
    plain += store.cpu_seconds() - before;
    before = store.cpu_seconds();
    for_all([&](int rank) {
      const Identity me = rank_of(rank, ranks, store.port());
      std::string report;
      const double standing = second == 0 ? 0.1 : 60;  // all for the first rank, each by way of the one before it
      Heartbeat beat{second,
                     10,
                     1,
                     {second, records::Doing::instruction_of("fwd 0.1"), standing, 0.2,
                      rank == 0 ? records::waits_for_nobody : rank - 1}};
      beat.pace = {0.1 + 1e-6 * rank, 1, rank % 8};
      EXPECT_NE(clients[static_cast<std::size_t>(rank)]->set_and_read(
                    key_of(me, "beat/" + std::to_string(1000000 + rank).substr(1)), to_text(beat),
                    {key_of(me, failure_report_key), key_of(me, notices_key)}, &report),
                0);
    });
    std::this_thread::sleep_for(std::chrono::duration<double>(std::max(0.0, until - base::monotonic_seconds())));
    spent += store.cpu_seconds() - before;
  }
  std::printf(
      "%d ranks joined in %.1f s; their heartbeats take %.1f %% of a core, as many plain requests %.1f %%; peak %.0f "
      "MiB\n",
      ranks, joined, 100 * spent / seconds, 100 * plain / seconds, store.peak_mib());
  EXPECT_LT(spent, 2.5 * plain);
}

// Greets, joins, and begins a request of which it sends what is taken.
class Hostile {
 public:
  Hostile(int port, std::size_t frame_bytes) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    std::string body(1, static_cast<char>(wire::Claim::any_launch)), text;
    wire::put_text(body, "");
    wire::put_text(body, "");
    text = std::string(wire::client_greeting) + std::string(nonce_bytes, 'h') +
           wire::frame(1, static_cast<std::uint8_t>(wire::Operation::join), body);
    wire::put_u32(text, static_cast<std::uint32_t>(frame_bytes));
    send(text);
  }
  ~Hostile() { ::close(socket_); }
  Hostile(const Hostile&) = delete;
  Hostile& operator=(const Hostile&) = delete;

  bool send(const std::string& bytes) const {
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
  }

 private:
  int socket_;
};

TEST(StoreLoad, TwoHundredHostileClientsTakeLittleMemoryAndOthersAreServed) {
  const StoreProcess store(2, false);
  StoreClient good("127.0.0.1", store.port(), 10);
  good.set("k", "v");
  for (const std::size_t frame_bytes : {std::size_t{63} << 20, wire::max_value_bytes}) {
    std::vector<std::unique_ptr<Hostile>> all;
    for (int i = 0; i < 200; ++i) all.push_back(std::make_unique<Hostile>(store.port(), frame_bytes));
    const std::string much(1 << 16, 'x');
    for (int round = 0; round < 63; ++round)
      for (const auto& hostile : all) hostile->send(much);
    EXPECT_EQ(good.get("k", 10), "v");
  }
  // Members that fill the table and ask for more than they read.
  StoreClient greedy("127.0.0.1", store.port(), 10);
  EXPECT_THROW(
      {
        for (int i = 0; i < 100; ++i) greedy.set("fill/" + std::to_string(i), std::string(1 << 20, 'x'));
      },
      base::PeerError);
  EXPECT_EQ(good.get("k", 10), "v");
  std::printf("peak %.0f MiB\n", store.peak_mib());
  EXPECT_LT(store.peak_mib(), 100);
}

}  // namespace
}  // namespace troika::rendezvous
