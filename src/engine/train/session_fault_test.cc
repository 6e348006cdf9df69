// A rank whose connections break and can be opened again.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "rendezvous/failure_report.h"
#include "rendezvous/free_port_test_support.h"
#include "train/session.h"

namespace troika::train {
namespace {
using rendezvous::Identity;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// Passes connections on to a port of this host, and can cut all that there are.
class Relay {
 public:
  explicit Relay(int to) : to_(to), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), length);
    ::listen(listener_, 16);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~Relay() {
    ends_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    cut();
    for (std::thread& thread : threads_) thread.join();
    for (const int socket : sockets_) ::close(socket);
    ::close(listener_);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  int port() const { return port_; }
  void cut() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  }

 private:
  void accept_all() {
    while (!ends_) {
      const int from = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (from < 0) return;
      const int to = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_in address = loopback(to_);
      ::connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof address);
      const std::lock_guard<std::mutex> lock(mutex_);
      sockets_.push_back(from);
      sockets_.push_back(to);
      threads_.emplace_back([from, to] { pass(from, to); });
    }
  }
  static void pass(int one, int other) {
    pollfd ends[2] = {{one, POLLIN, 0}, {other, POLLIN, 0}};
    char bytes[4096];
    while (::poll(ends, 2, -1) > 0) {
      for (int i = 0; i < 2; ++i) {
        if (ends[i].revents == 0) continue;
        const ssize_t got = ::recv(ends[i].fd, bytes, sizeof bytes, 0);
        if (got <= 0 || ::send(ends[1 - i].fd, bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL) != got) {
          ::shutdown(one, SHUT_RDWR);
          ::shutdown(other, SHUT_RDWR);
          return;
        }
      }
    }
  }

  const int to_, listener_;
  int port_ = 0;
  std::atomic<bool> ends_{false};
  std::mutex mutex_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;  // of connections
  std::thread acceptor_;
};

Identity identity_of(int rank, int port) {
  Identity identity;
  identity.source = Identity::Source::torchrun;
  identity.world_rank = identity.local_rank = rank;
  identity.world_size = identity.local_size = 2;
  identity.store_port = port;
  identity.hosts_store = rank == 0;
  return identity;
}

TEST(Session, ARankTellsItsFailureOverAnotherConnectionWhenItsOwnIsBroken) {
  const int port = rendezvous::free_port();
  Relay relay(port);
  const Identity zero = identity_of(0, port), one = identity_of(1, relay.port());
  config::CommSettings settings;
  settings.join_seconds = 20;
  Session leader(zero, settings), other(one, settings);
  std::thread joining([&] { leader.join(); });
  other.join();
  joining.join();
  relay.cut();
  other.fail({70, base::verbatim("the reason")});
  rendezvous::StoreClient store(zero, 5);
  std::string told;
  ASSERT_TRUE(store.try_get(rendezvous::key_of(zero, "failed/000001"), &told));
  EXPECT_EQ(rendezvous::parse_failure_report(told).text(), "the reason");
}

}  // namespace
}  // namespace troika::train
