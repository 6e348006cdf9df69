#include "doctor/echo.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/say.h"
#include "base/cause.h"
#include "host/network.h"
#include "host/thread_limit.h"

namespace troika::doctor {
namespace {

constexpr std::size_t most_connections = 64;
constexpr int silent_seconds = 8;

base::Descriptor bind_everywhere(int type, int port) {
  return host::socket_at_every_network(type, port, static_cast<int>(most_connections));
}

int port_or_none(const base::Descriptor& socket) { return socket ? host::port_of(socket.number()) : 0; }

// Reads all bytes from a blocking socket, or returns false where the connection ends or is silent for too long.
bool read_all(int socket, char* bytes, std::size_t count) {
  return ::recv(socket, bytes, count, MSG_WAITALL) == static_cast<ssize_t>(count);
}

bool write_all(int socket, const char* bytes, std::size_t count) {
  return ::send(socket, bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
}

bool answer_time(int socket) {
  const auto nanoseconds = static_cast<std::uint64_t>(base::wall_seconds() * 1e9);
  std::array<char, echo::answer_bytes> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(nanoseconds >> (56 - 8 * i));
  return write_all(socket, bytes.data(), bytes.size());
}

bool pass(int socket, std::uint32_t count, bool (*move)(int, char*, std::size_t)) {
  static constexpr std::size_t piece = std::size_t{64} << 10;
  std::vector<char> bytes(piece);
  for (std::size_t left = count; left > 0;) {
    const std::size_t now = std::min(left, piece);
    if (!move(socket, bytes.data(), now)) return false;
    left -= now;
  }
  return true;
}

// One question and its answer; false at the end of the connection, or of what is no doctor.
bool answer_one(int socket) {
  std::array<std::uint32_t, 3> words;
  if (!read_all(socket, reinterpret_cast<char*>(words.data()), echo::question_bytes)) return false;
  for (std::uint32_t& word : words) word = ntohl(word);
  if (words[0] != echo::sign || words[2] > echo::most_bytes) return false;
  switch (static_cast<echo::Ask>(words[1])) {
    case echo::Ask::time:
      return answer_time(socket);
    case echo::Ask::take:
      return pass(socket, words[2], read_all) && answer_time(socket);
    case echo::Ask::give:
      return pass(socket, words[2], [](int to, char* bytes, std::size_t count) { return write_all(to, bytes, count); });
  }
  return false;
}

}  // namespace

struct EchoServer::Impl {
  base::Descriptor tcp, named, udp, wake;
  std::thread thread;

  struct Connection {
    base::Descriptor socket;
    std::atomic<bool> over{false};
    std::thread thread;
  };
  std::list<Connection> connections;  // of `thread`

  void accept_one(int listener) {
    base::Descriptor accepted(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (!accepted) return;
    sweep();
    if (connections.size() >= most_connections) return;
    const int on = 1, socket = accepted.number();
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval patience{silent_seconds, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    Connection& connection = connections.emplace_back();
    connection.socket = std::move(accepted);
    try {
      connection.thread = host::start_thread([&connection, socket] {
        while (answer_one(socket)) {
        }
        ::shutdown(socket, SHUT_RDWR);
        connection.over = true;
      });
    } catch (const base::ConfigError&) {  // no room for it: as if there were too many
      connections.pop_back();
    }
  }

  void sweep() {
    for (auto one = connections.begin(); one != connections.end();) {
      if (!one->over) {
        ++one;
        continue;
      }
      one->thread.join();
      one = connections.erase(one);
    }
  }

  void answer_datagram() const {
    std::array<char, 16384> bytes;
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    const ssize_t count =
        ::recvfrom(udp.number(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
    std::uint32_t sign = 0;
    if (count < static_cast<ssize_t>(echo::datagram_bytes)) return;
    std::memcpy(&sign, bytes.data(), sizeof sign);
    if (ntohl(sign) != echo::sign) return;
    ::sendto(udp.number(), bytes.data(), echo::datagram_bytes, 0, reinterpret_cast<const sockaddr*>(&from), length);
  }

  void serve() {
    for (;;) {
      std::array<pollfd, 4> polled = {
          {{wake.number(), POLLIN, 0}, {tcp.number(), POLLIN, 0}, {udp.number(), POLLIN, 0}, {named.number(), POLLIN, 0}}};
      if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) break;
      if (polled[0].revents != 0) break;
      if (polled[1].revents != 0) accept_one(tcp.number());
      if (polled[2].revents != 0) answer_datagram();
      if (polled[3].revents != 0) accept_one(named.number());
    }
    for (Connection& one : connections) ::shutdown(one.socket.number(), SHUT_RDWR);
    for (Connection& one : connections) one.thread.join();
  }

  ~Impl() {
    const std::uint64_t one = 1;
    if (thread.joinable() && ::write(wake.number(), &one, sizeof one) == sizeof one) thread.join();
  }
};

EchoServer::EchoServer(int port) : impl_(std::make_unique<Impl>()) {
  impl_->tcp = bind_everywhere(SOCK_STREAM, 0);
  impl_->udp = bind_everywhere(SOCK_DGRAM, 0);
  if (port > 0) impl_->named = bind_everywhere(SOCK_STREAM, port);
  impl_->wake = base::Descriptor(::eventfd(0, EFD_CLOEXEC));
  if (!impl_->tcp || !impl_->udp || !impl_->wake)
    throw base::PeerError(base::say("cannot open a socket for other doctors: {}", base::system_cause(errno)));
  impl_->thread = std::thread([impl = impl_.get()] { impl->serve(); });
}

EchoServer::~EchoServer() = default;
int EchoServer::tcp_port() const { return port_or_none(impl_->tcp); }
int EchoServer::udp_port() const { return port_or_none(impl_->udp); }
int EchoServer::named_port() const { return port_or_none(impl_->named); }

}  // namespace troika::doctor
