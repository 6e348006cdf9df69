#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <thread>

#include "base/cause.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "host/network.h"
#include "host/thread_limit.h"
#include "rendezvous/socket.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {
namespace {

int listen_on(int port, Reach reach) {
  constexpr int type = SOCK_STREAM | SOCK_NONBLOCK, waiting = 4096;
  base::Descriptor socket = reach == Reach::networks ? host::socket_at_every_network(type, port, waiting)
                                                     : host::socket_at(type, loopback_address(), port, waiting);
  if (socket) return socket.release();
  const int code = errno;
  if (code == EADDRINUSE) {
    throw base::ConfigError(
        base::say("port {} is held by {}: end it or choose another --master-port", port, host::port_holder(port)),
            base::Cause::port_in_use);
  }
  throw base::ConfigError(
      base::say("cannot listen on port {}: {}; choose another --master-port", port, base::system_cause(code)),
      base::Cause::port_in_use);
}

void raise_limit_of_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

struct StoreServer::Impl {
  Impl(Access access, const StoreLimits& limits) : service(std::move(access), limits, new_nonce) {}

  using Client = StoreService::Client;
  static constexpr Client stop_event = 0, listener_event = 1;
  static_assert(StoreService::first_client > listener_event);

  int listener = -1;
  int stop = -1;  // an eventfd; readable: end
  int events = -1;
  int port = 0;
  double accepts_again_at = 0;  // 0: it accepts
  StoreService service;
  struct Connection {
    int socket = -1;
    std::uint32_t watched = 0;
  };
  std::map<Client, Connection> connections;
  std::thread thread;

  void run();
  void accept_all(double now);
  void pause_accepting(double now);
  void accept_again(double now);
  void read_from(Client client);
  void flush(Client client);
  void watch(Client client, Connection& connection, std::uint32_t what);
  void end(Client client, StoreService::Ended ended);
};

StoreServer::StoreServer(int port) : StoreServer(port, Reach::this_host, {}, {}) {}

StoreServer::StoreServer(int port, Reach reach, Access access, const StoreLimits& limits)
    : impl_(std::make_unique<Impl>(std::move(access), limits)) {
  raise_limit_of_files();
  impl_->listener = listen_on(port, reach);
  impl_->port = host::port_of(impl_->listener);
  impl_->stop = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  impl_->events = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{EPOLLIN, {}};
  event.data.u64 = Impl::stop_event;
  ::epoll_ctl(impl_->events, EPOLL_CTL_ADD, impl_->stop, &event);
  event.data.u64 = Impl::listener_event;
  ::epoll_ctl(impl_->events, EPOLL_CTL_ADD, impl_->listener, &event);
  impl_->thread = host::start_thread([this] { impl_->run(); });
}

StoreServer::~StoreServer() {
  const std::uint64_t one = 1;
  while (::write(impl_->stop, &one, sizeof one) < 0 && errno == EINTR) {
  }
  impl_->thread.join();
  for (const auto& [client, connection] : impl_->connections) ::close(connection.socket);
  ::close(impl_->listener);
  ::close(impl_->stop);
  ::close(impl_->events);
}

int StoreServer::port() const { return impl_->port; }

void StoreServer::Impl::run() {
  std::array<epoll_event, 256> ready{};
  for (;;) {
    constexpr int tick_ms = 100;
    const int count = ::epoll_wait(events, ready.data(), static_cast<int>(ready.size()), tick_ms);
    if (count < 0 && errno != EINTR) return;
    const double now = base::monotonic_seconds();
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = ready[static_cast<std::size_t>(i)];
      const Client client = event.data.u64;
      if (client == stop_event) return;
      if (client == listener_event) {
        accept_all(now);
      } else if (connections.count(client) > 0) {
        if ((event.events & EPOLLOUT) != 0) flush(client);
        if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_from(client);
      }
    }
    service.expire(now);
    for (const Client client : service.take_touched()) flush(client);
    accept_again(now);
  }
}

// The listener stays readable, so it is looked away from instead of spinning.
void StoreServer::Impl::pause_accepting(double now) {
  accepts_again_at = now + 0.1;
  ::epoll_ctl(events, EPOLL_CTL_DEL, listener, nullptr);
}

void StoreServer::Impl::accept_again(double now) {
  if (accepts_again_at == 0 || now < accepts_again_at) return;
  accepts_again_at = 0;
  epoll_event event{EPOLLIN, {}};
  event.data.u64 = listener_event;
  ::epoll_ctl(events, EPOLL_CTL_ADD, listener, &event);
}

void StoreServer::Impl::accept_all(double now) {
  for (;;) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (socket < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) pause_accepting(now);
      return;
    }
    const std::optional<Client> client = service.open(now, peer_address(socket));
    if (!client) {
      ::close(socket);
      continue;
    }
    set_options(socket);
    Connection& connection = connections[*client];
    connection = {socket, EPOLLIN};
    epoll_event event{EPOLLIN, {}};
    event.data.u64 = *client;
    ::epoll_ctl(events, EPOLL_CTL_ADD, socket, &event);
  }
}

void StoreServer::Impl::read_from(Client client) {
  const int socket = connections.at(client).socket;
  char buffer[65536];
  for (int round = 0; round < 4; ++round) {  // bounded: one fast sender must not starve the others
    const ssize_t got = ::recv(socket, buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      return end(client, got == 0 ? StoreService::Ended::by_client : StoreService::Ended::otherwise);
    }
    service.receive(client, {buffer, static_cast<std::size_t>(got)});
    if (service.dropped(client)) break;
    if (static_cast<std::size_t>(got) < sizeof buffer) break;
  }
}

void StoreServer::Impl::flush(Client client) {
  const auto found = connections.find(client);
  if (found == connections.end()) return;
  if (service.dropped(client)) return end(client, StoreService::Ended::otherwise);
  while (!service.unsent(client).empty()) {
    const std::string_view bytes = service.unsent(client);
    const ssize_t count = ::send(found->second.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return watch(client, found->second, EPOLLIN | EPOLLOUT);
    if (count < 0) return end(client, StoreService::Ended::otherwise);
    service.sent(client, static_cast<std::size_t>(count));
  }
  watch(client, found->second, EPOLLIN);
}

void StoreServer::Impl::watch(Client client, Connection& connection, std::uint32_t what) {
  if (connection.watched == what) return;
  connection.watched = what;
  epoll_event event{what, {}};
  event.data.u64 = client;
  ::epoll_ctl(events, EPOLL_CTL_MOD, connection.socket, &event);
}

void StoreServer::Impl::end(Client client, StoreService::Ended ended) {
  service.close(client, ended);
  ::close(connections.at(client).socket);
  connections.erase(client);
}

}  // namespace troika::rendezvous
