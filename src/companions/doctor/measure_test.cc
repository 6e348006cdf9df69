#include "doctor/measure.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <memory>

#include "base/clock.h"
#include "base/host_name.h"
#include "doctor/echo.h"
#include "doctor/made_host_test_support.h"
#include "doctor/tree.h"

namespace troika::doctor {
namespace {

PeerDoctor peer_at(int tcp_port, int udp_port, int named_port = 0) {
  return {"other", "localhost", {"127.0.0.1"}, tcp_port, udp_port, named_port};
}

// Takes connections and never says a word.
class SilentListener {
 public:
  SilentListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(socket_, 4), 0);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
  }
  ~SilentListener() { ::close(socket_); }
  int port() const { return port_; }

 private:
  int socket_, port_ = 0;
};

TEST(Measure, FindsOutAboutThisHostAndLeavesNothingBehind) {
  const base::TemporaryFolder folder;
  Want want;
  want.folder = folder.path() + "/run/that/is/not/there/yet";
  HostView view = view_of_this_host(want, {}, PortState::not_asked);
  ASSERT_TRUE(view.disk.has_value());
  EXPECT_EQ(view.disk->folder, folder.path());
  EXPECT_GT(view.disk->free_bytes, 0);
  EXPECT_EQ(view.name, base::host_name());
  EXPECT_GE(view.cores, 1);
  const Measured measured = measure(view, {0.06, 0.05, 2});
  EXPECT_GT(measured.sync_seconds, 0);
  EXPECT_GT(measured.memory_bytes_per_second, 1e8);
  EXPECT_TRUE(measured.space_is_granted);
  EXPECT_TRUE(base::list_directory(folder.path()).empty());
}

TEST(Measure, RefusesMoreSpaceThanADiskCanHave) {
  const base::TemporaryFolder folder;
  EXPECT_FALSE(space_is_granted(folder.path(), std::int64_t{1} << 60));
  EXPECT_TRUE(space_is_granted("/nowhere", 1));
  EXPECT_EQ(sync_seconds("/nowhere", 2), -1);
}

TEST(MeasurePeer, ReachesADoctorThatAnswers) {
  const EchoServer server(0);
  const PairReport report = measure_peer(peer_at(server.tcp_port(), server.udp_port()), Depth::all, 0.8, {});
  EXPECT_EQ(report.connecting.code, 0);
  EXPECT_TRUE(report.answered);
  EXPECT_GT(report.round_trip_seconds, 0);
  EXPECT_LT(report.round_trip_seconds, 0.1);
  EXPECT_GE(report.late_round_trip_seconds, report.round_trip_seconds);
  EXPECT_LE(std::abs(report.clock_seconds), report.clock_error_seconds + 1e-3);
  EXPECT_GT(report.there_bytes_per_second, 1e6);
  EXPECT_GT(report.back_bytes_per_second, 1e6);
  EXPECT_EQ(report.small_datagrams, true);
  EXPECT_EQ(report.full_datagrams, true);
  EXPECT_EQ(report.stuck_bytes, 0);
  EXPECT_FALSE(report.addresses_of_name.empty());
}

TEST(MeasurePeer, AlsoTriesThePortWhereRanksWillMeet) {
  const EchoServer first(0);
  const EchoServer second(first.tcp_port());
  EXPECT_EQ(second.named_port(), 0);  // it is taken
  PairReport report =
      measure_peer(peer_at(second.tcp_port(), second.udp_port(), first.tcp_port()), Depth::reach, 1, {});
  ASSERT_TRUE(report.named.has_value());
  EXPECT_EQ(report.named->code, 0);
  report = measure_peer(peer_at(second.tcp_port(), second.udp_port(), 1), Depth::reach, 1, {});
  EXPECT_EQ(report.named->code, ECONNREFUSED);
}

TEST(MeasurePeer, SaysWhyNobodyAnswersInTime) {
  const double begin = base::monotonic_seconds();
  EXPECT_EQ(measure_peer(peer_at(1, 1), Depth::all, 1, {}).connecting.code, ECONNREFUSED);
  const SilentListener listener;
  const PairReport report = measure_peer(peer_at(listener.port(), 1), Depth::reach, 0.1, {});
  EXPECT_EQ(report.connecting.code, 0);
  EXPECT_FALSE(report.answered);
  EXPECT_LT(base::monotonic_seconds() - begin, 3);
}

TEST(EchoServer, AnswersManyAndEndsWithConnectionsOpen) {
  auto server = std::make_unique<EchoServer>(0);
  for (int i = 0; i < 80; ++i)
    EXPECT_EQ(measure_peer(peer_at(server->tcp_port(), 1), Depth::reach, 0.01, {}).connecting.code, 0);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(server->tcp_port()));
  ASSERT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const double begin = base::monotonic_seconds();
  server.reset();
  EXPECT_LT(base::monotonic_seconds() - begin, 2);
  ::close(socket);
}

TEST(Resolve, KnowsLoopbackAndGivesUpInTime) {
  const auto addresses = resolve_within("localhost", 5);
  ASSERT_TRUE(addresses.has_value());
  EXPECT_FALSE(addresses->empty());
  const auto end = std::make_shared<std::promise<void>>();
  const auto silent = [ended = std::shared_future<void>(end->get_future())](const std::string&) {
    ended.wait();
    return std::vector<std::string>();
  };
  EXPECT_FALSE(resolve_within("localhost", 0.01, silent).has_value());
  end->set_value();
}

}  // namespace
}  // namespace troika::doctor
