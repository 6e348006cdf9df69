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
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/cause.h"
#include "doctor/echo.h"
#include "host/network.h"
#include "host/thread_limit.h"

namespace troika::doctor {
namespace {

constexpr std::size_t most_connections = 64;
constexpr int silent_seconds = 8;

struct Bound {
  int socket = -1, port = 0;
};

Bound bind_everywhere(int type, int port) {
  base::Descriptor socket = host::socket_at_every_network(type, port, static_cast<int>(most_connections));
  if (!socket) return {};
  const int got = host::port_of(socket.number());
  return {socket.release(), got};
}

bool read_all(int socket, char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t some = ::recv(socket, bytes, count, 0);
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) return false;
    bytes += some;
    count -= static_cast<std::size_t>(some);
  }
  return true;
}

bool write_all(int socket, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t some = ::send(socket, bytes, count, MSG_NOSIGNAL);
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) return false;
    bytes += some;
    count -= static_cast<std::size_t>(some);
  }
  return true;
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
  Bound tcp, named, udp;
  int wake = -1;
  std::thread thread;

  struct Connection {
    int socket = -1;
    std::atomic<bool> over{false};
    std::thread thread;
  };
  std::list<Connection> connections;  // of `thread`

  void accept_one(int listener) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    sweep();
    if (connections.size() >= most_connections) {
      ::close(socket);
      return;
    }
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval patience{silent_seconds, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    Connection& connection = connections.emplace_back();
    connection.socket = socket;
    try {
      connection.thread = host::start_thread([&connection] {
        while (answer_one(connection.socket)) {
        }
        ::shutdown(connection.socket, SHUT_RDWR);
        connection.over = true;
      });
    } catch (const base::ConfigError&) {  // no room for it: as if there were too many
      connections.pop_back();
      ::close(socket);
    }
  }

  void sweep() {
    for (auto one = connections.begin(); one != connections.end();) {
      if (!one->over) {
        ++one;
        continue;
      }
      one->thread.join();
      ::close(one->socket);
      one = connections.erase(one);
    }
  }

  void answer_datagram() const {
    std::array<char, 16384> bytes;
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    const ssize_t count =
        ::recvfrom(udp.socket, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
    std::uint32_t sign = 0;
    if (count < static_cast<ssize_t>(echo::datagram_bytes)) return;
    std::memcpy(&sign, bytes.data(), sizeof sign);
    if (ntohl(sign) != echo::sign) return;
    ::sendto(udp.socket, bytes.data(), echo::datagram_bytes, 0, reinterpret_cast<const sockaddr*>(&from), length);
  }

  void serve() {
    for (;;) {
      std::array<pollfd, 4> polled = {
          {{wake, POLLIN, 0}, {tcp.socket, POLLIN, 0}, {udp.socket, POLLIN, 0}, {named.socket, POLLIN, 0}}};
      if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) break;
      if (polled[0].revents != 0) break;
      if (polled[1].revents != 0) accept_one(tcp.socket);
      if (polled[2].revents != 0) answer_datagram();
      if (polled[3].revents != 0) accept_one(named.socket);
    }
    for (Connection& one : connections) ::shutdown(one.socket, SHUT_RDWR);
    for (Connection& one : connections) {
      one.thread.join();
      ::close(one.socket);
    }
  }

  ~Impl() {
    const std::uint64_t one = 1;
    if (thread.joinable() && ::write(wake, &one, sizeof one) == sizeof one) thread.join();
    for (const int socket : {tcp.socket, named.socket, udp.socket, wake})
      if (socket >= 0) ::close(socket);
  }
};

EchoServer::EchoServer(int port) : impl_(std::make_unique<Impl>()) {
  impl_->tcp = bind_everywhere(SOCK_STREAM, 0);
  impl_->udp = bind_everywhere(SOCK_DGRAM, 0);
  if (port > 0) impl_->named = bind_everywhere(SOCK_STREAM, port);
  impl_->wake = ::eventfd(0, EFD_CLOEXEC);
  if (impl_->tcp.socket < 0 || impl_->udp.socket < 0 || impl_->wake < 0)
    throw base::PeerError(base::say("cannot open a socket for other doctors: {}", base::system_cause(errno)));
  impl_->thread = std::thread([impl = impl_.get()] { impl->serve(); });
}

EchoServer::~EchoServer() = default;
int EchoServer::tcp_port() const { return impl_->tcp.port; }
int EchoServer::udp_port() const { return impl_->udp.port; }
int EchoServer::named_port() const { return impl_->named.port; }

}  // namespace troika::doctor
