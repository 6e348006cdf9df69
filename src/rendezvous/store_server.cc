#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "rendezvous/socket.h"
#include "rendezvous/store.h"
#include "rendezvous/store_protocol.h"

namespace troika::rendezvous {
namespace {

constexpr double hello_seconds = 10;  // a connection that does not greet by then is dropped
constexpr std::size_t max_connections = 16384;
constexpr std::size_t max_unsent_bytes = 2 * wire::max_frame_bytes;  // a client that asks and never reads is dropped

}  // namespace

struct Connection {
  int socket = -1;
  double since = 0;
  bool greeted = false;
  bool broken = false;
  std::string in, out;
  bool waits = false;  // a get whose key is not there yet
  std::string wanted;
  std::uint32_t wanted_by = 0;
};

namespace {

int listen_on(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) throw base::ConfigError(fmt::format("cannot make a socket: {}", std::strerror(errno)));
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(socket, 1024) == 0)
    return socket;
  const int code = errno;
  ::close(socket);
  if (code == EADDRINUSE) {
    throw base::ConfigError(
        fmt::format("port {} is held by {}: end it or choose another --master-port", port, port_holder(port)));
  }
  throw base::ConfigError(
      fmt::format("cannot listen on port {}: {}; choose another --master-port", port, std::strerror(code)));
}

}  // namespace

struct StoreServer::Impl {
  int listener = -1;
  int stop = -1;  // an eventfd; readable: end
  int port = 0;
  double accepts_again_at = 0;
  Table table;
  std::list<Connection> connections;
  std::thread thread;

  void run();
  void accept_all();
  void read_from(Connection& connection);
  void consume(Connection& connection);
  void answer(Connection& connection, const wire::Frame& request);
  void wake_waiters(const std::string& key);
  static void reply(Connection& connection, std::uint32_t request, wire::Status status, std::string_view body);
  static void flush(Connection& connection);
  void drop_broken();
};

StoreServer::StoreServer(int port) : impl_(std::make_unique<Impl>()) {
  impl_->listener = listen_on(port);
  sockaddr_in bound{};
  socklen_t length = sizeof bound;
  ::getsockname(impl_->listener, reinterpret_cast<sockaddr*>(&bound), &length);
  impl_->port = ntohs(bound.sin_port);
  impl_->stop = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  impl_->thread = std::thread([this] { impl_->run(); });
}

StoreServer::~StoreServer() {
  const std::uint64_t one = 1;
  while (::write(impl_->stop, &one, sizeof one) < 0 && errno == EINTR) {
  }
  impl_->thread.join();
  for (const Connection& connection : impl_->connections) ::close(connection.socket);
  ::close(impl_->listener);
  ::close(impl_->stop);
}

int StoreServer::port() const { return impl_->port; }

void StoreServer::Impl::run() {
  std::vector<pollfd> polled;
  for (;;) {
    const bool accepts = base::monotonic_seconds() >= accepts_again_at;
    polled.assign({{stop, POLLIN, 0}, {accepts ? listener : -1, POLLIN, 0}});
    for (const Connection& connection : connections) {
      polled.push_back({connection.socket, static_cast<short>(connection.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    }
    if (::poll(polled.data(), polled.size(), accepts ? 1000 : 100) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    std::size_t at = 2;
    for (Connection& connection : connections) {
      const short events = polled[at++].revents;
      if ((events & POLLOUT) != 0) flush(connection);
      if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(connection);
      if (!connection.greeted && base::monotonic_seconds() - connection.since > hello_seconds) connection.broken = true;
    }
    drop_broken();
    if (polled[1].revents != 0) accept_all();
  }
}

void StoreServer::Impl::accept_all() {
  while (connections.size() < max_connections) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (socket < 0) {
      // Out of descriptors: the listener stays readable, so look away for a while instead of spinning.
      if (errno != EAGAIN && errno != EWOULDBLOCK) accepts_again_at = base::monotonic_seconds() + 0.1;
      return;
    }
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    Connection connection;
    connection.socket = socket;
    connection.since = base::monotonic_seconds();
    connections.push_back(std::move(connection));
  }
  accepts_again_at = base::monotonic_seconds() + 0.1;
}

void StoreServer::Impl::read_from(Connection& connection) {
  char buffer[65536];
  bool ended = false;
  for (int round = 0; round < 64; ++round) {  // bounded: one fast sender must not starve the others
    const ssize_t got = ::recv(connection.socket, buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    ended = got <= 0;
    if (ended) break;
    connection.in.append(buffer, static_cast<std::size_t>(got));
  }
  consume(connection);
  if (ended) connection.broken = true;
}

void StoreServer::Impl::consume(Connection& connection) {
  std::size_t taken = 0;
  if (!connection.greeted) {
    const std::size_t seen = std::min(connection.in.size(), wire::client_hello.size());
    if (connection.in.compare(0, seen, wire::client_hello.substr(0, seen)) != 0) connection.broken = true;
    if (connection.broken || seen < wire::client_hello.size()) return;
    connection.greeted = true;
    connection.out.append(wire::server_hello);
    taken = seen;
  }
  wire::Frame request;
  std::size_t used = 0;
  wire::Parse parse = wire::Parse::incomplete;
  while (!connection.broken && (parse = wire::parse_frame(std::string_view(connection.in).substr(taken), &request,
                                                          &used)) == wire::Parse::complete) {
    answer(connection, request);
    taken += used;
  }
  if (parse == wire::Parse::malformed) connection.broken = true;
  connection.in.erase(0, taken);
  flush(connection);
}

void StoreServer::Impl::answer(Connection& connection, const wire::Frame& request) {
  connection.waits = false;  // a new request means that the client gave up waiting for the last one
  std::string_view body = request.body, name;
  if (!wire::take_text(body, &name) || name.size() > wire::max_key_bytes || body.size() > wire::max_value_bytes) {
    connection.broken = true;
    return;
  }
  const auto operation = static_cast<wire::Operation>(request.kind);
  const std::string key(name);
  const Table::Reply result = table.apply(operation, key, body);
  if (operation == wire::Operation::get && result.status == wire::Status::absent) {
    connection.waits = true;
    connection.wanted = key;
    connection.wanted_by = request.request;
    return;
  }
  reply(connection, request.request, result.status, result.body);
  if (result.changed) wake_waiters(key);
}

void StoreServer::Impl::wake_waiters(const std::string& key) {
  for (Connection& connection : connections) {
    if (!connection.waits || connection.wanted != key) continue;
    connection.waits = false;
    reply(connection, connection.wanted_by, wire::Status::ok, *table.find(key));
    flush(connection);
  }
}

void StoreServer::Impl::reply(Connection& connection, std::uint32_t request, wire::Status status,
                              std::string_view body) {
  connection.out.append(wire::frame(request, static_cast<std::uint8_t>(status), body));
  if (connection.out.size() > max_unsent_bytes) connection.broken = true;
}

void StoreServer::Impl::flush(Connection& connection) {
  std::size_t sent = 0;
  while (sent < connection.out.size() && !connection.broken) {
    const ssize_t count =
        ::send(connection.socket, connection.out.data() + sent, connection.out.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (count < 0) connection.broken = true;
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  connection.out.erase(0, sent);
}

void StoreServer::Impl::drop_broken() {
  for (auto at = connections.begin(); at != connections.end();) {
    if (at->broken) ::close(at->socket);
    at = at->broken ? connections.erase(at) : std::next(at);
  }
}

}  // namespace troika::rendezvous
