#include "http/server.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/cause.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "host/network.h"

namespace troika::http {
namespace {

// A client's socket. One that is over is drained for a moment, because a close with unread bytes would take the answer back.
struct Client {
  int socket = -1;
  std::unique_ptr<Connection> connection;
  std::uint32_t watched = 0;
  double drained_until = 0;  // 0: it is not over
  bool has_ended = false;    // its side, while an answer is awaited
};

}  // namespace

struct Server::Impl {
  using Number = std::uint64_t;
  static constexpr Number wake_event = 0, listener_event = 1, first_client = 2;
  static constexpr double drain_seconds = 1, pause_seconds = 0.1;

  Impl(const ServerOptions& given, Handler answers)
      : options(given), handler([this, answers = std::move(answers)](const Request& request) {
          return within_share(answers(request));
        }) {}

  const ServerOptions options;
  const Handler handler;
  int listener = -1, events = -1;
  int wake = -1;  // an eventfd: a stream has news, or the server ends
  std::atomic<bool> ends{false};
  int port = 0;
  Number next_client = first_client;
  std::map<Number, Client> clients;
  double accepts_again_at = 0;  // 0: it accepts
  std::thread thread;

  Response within_share(Response response) const;
  void run();
  void wake_up() const;
  void accept_all(double now);
  void look_away(double now);
  void make_room();
  void open(int socket, double now);
  static void hear_end(Client& client);
  void read_from(Number number, double now);
  void flush(Number number, double now);
  void watch(Number number, Client& client);
  void finish(Client& client, double now);
  void close(Number number);
  void expire(double now);
};

Server::Server(const ServerOptions& options, Handler handler)
    : impl_(std::make_unique<Impl>(options, std::move(handler))) {
  impl_->listener = listen_on(options.address, options.port, options.address_flag, options.port_flag);
  impl_->port = host::port_of(impl_->listener);
  impl_->wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  impl_->events = ::epoll_create1(EPOLL_CLOEXEC);
  for (const auto& [descriptor, number] :
       {std::pair{impl_->wake, Impl::wake_event}, std::pair{impl_->listener, Impl::listener_event}}) {
    epoll_event event{EPOLLIN, {}};
    event.data.u64 = number;
    ::epoll_ctl(impl_->events, EPOLL_CTL_ADD, descriptor, &event);
  }
  impl_->thread = std::thread([this] { impl_->run(); });
}

Server::~Server() {
  impl_->ends = true;
  impl_->wake_up();
  impl_->thread.join();
  for (auto& [number, client] : impl_->clients) {
    client.connection.reset();  // leaves its stream, which wakes nobody then
    ::close(client.socket);
  }
  for (const int descriptor : {impl_->listener, impl_->wake, impl_->events}) ::close(descriptor);
}

int Server::port() const { return impl_->port; }

std::string Server::url() const {
  const std::string& address = impl_->options.address;
  const bool is_version_6 = address.find(':') != std::string::npos;
  return fmt::format(is_version_6 ? "http://[{}]:{}" : "http://{}:{}", address, impl_->port);
}

Response Server::Impl::within_share(Response response) const {
  if (response.stream == nullptr) return response;
  const auto streams = static_cast<std::size_t>(std::count_if(
      clients.begin(), clients.end(), [](const auto& client) { return client.second.connection->streams(); }));
  if (streams < std::max<std::size_t>(1, options.connections / 2)) return response;
  response.stream->leave();
  return refusal_text(503, "too many streams of events are open\n");
}

void Server::Impl::wake_up() const {
  const std::uint64_t one = 1;
  while (::write(wake, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void Server::Impl::run() {
  std::array<epoll_event, 64> ready{};
  while (!ends) {
    constexpr int tick_ms = 200;
    const bool idle = clients.empty() && accepts_again_at == 0;
    const int count = ::epoll_wait(events, ready.data(), static_cast<int>(ready.size()), idle ? -1 : tick_ms);
    if (count < 0 && errno != EINTR) return;
    const double now = base::monotonic_seconds();
    for (int i = 0; i < count && !ends; ++i) {
      const epoll_event& event = ready[static_cast<std::size_t>(i)];
      const Number number = event.data.u64;
      if (number == wake_event) {
        std::uint64_t news = 0;
        while (::read(wake, &news, sizeof news) < 0 && errno == EINTR) {
        }
      } else if (number == listener_event) {
        accept_all(now);
      } else if (clients.count(number) > 0) {
        if ((event.events & EPOLLRDHUP) != 0) hear_end(clients.at(number));
        if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_from(number, now);
        flush(number, now);
      }
    }
    expire(now);
  }
}

void Server::Impl::accept_all(double now) {
  for (;;) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (socket < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) look_away(now);
      return;
    }
    if (clients.size() >= options.connections) make_room();
    if (clients.size() >= options.connections) {
      const std::string text = "all connections are in use\n";
      const std::string bytes = head_of(refusal_text(503, text), Afterwards::close) + text;
      (void)::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ::close(socket);
      continue;
    }
    open(socket, now);
  }
}

// Descriptors are used up: the listener stays readable, so it is looked away from instead of spinning.
void Server::Impl::look_away(double now) {
  accepts_again_at = now + pause_seconds;
  ::epoll_ctl(events, EPOLL_CTL_DEL, listener, nullptr);
}

// Closes whoever is over, else whoever has waited longest without having asked for anything to the end.
void Server::Impl::make_room() {
  const auto first = std::min_element(clients.begin(), clients.end(), [](const auto& a, const auto& b) {
    const auto order = [](const Client& client) {
      const Connection& connection = *client.connection;
      const int kind = client.drained_until > 0 ? 0 : connection.gives_way() ? 1 : 2;
      return std::pair{kind, connection.waits_since()};
    };
    return order(a.second) < order(b.second);
  });
  if (first != clients.end() && (first->second.drained_until > 0 || first->second.connection->gives_way()))
    close(first->first);
}

void Server::Impl::open(int socket, double now) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const Number number = next_client++;
  Client& client = clients[number];
  client.socket = socket;
  client.connection = std::make_unique<Connection>(
      handler, [this] { wake_up(); }, options.limits, options.patience, now);
  client.watched = EPOLLIN;
  epoll_event event{EPOLLIN, {}};
  event.data.u64 = number;
  ::epoll_ctl(events, EPOLL_CTL_ADD, socket, &event);
}

// Heard while it is not read from, so that whoever makes its answer may stop.
void Server::Impl::hear_end(Client& client) {
  client.has_ended = true;
  client.connection->client_ends();
}

void Server::Impl::read_from(Number number, double now) {
  Client& client = clients.at(number);
  char buffer[16384];
  const ssize_t got = ::recv(client.socket, buffer, sizeof buffer, 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (got < 0 || (got == 0 && client.drained_until > 0)) return close(number);
  if (got == 0) return client.connection->receive_end(now);
  if (client.drained_until == 0) client.connection->receive({buffer, static_cast<std::size_t>(got)}, now);
}

void Server::Impl::flush(Number number, double now) {
  const auto found = clients.find(number);
  if (found == clients.end()) return;
  Client& client = found->second;
  Connection& connection = *client.connection;
  while (!connection.unsent().empty()) {
    const std::string_view bytes = connection.unsent();
    const ssize_t count = ::send(client.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (count < 0) return close(number);
    connection.sent(static_cast<std::size_t>(count), now);
  }
  if (connection.over() && client.drained_until == 0) finish(client, now);
  watch(number, client);
}

void Server::Impl::finish(Client& client, double now) {
  ::shutdown(client.socket, SHUT_WR);
  client.drained_until = now + drain_seconds;
}

void Server::Impl::watch(Number number, Client& client) {
  const Connection& connection = *client.connection;
  std::uint32_t what = 0;
  if (client.drained_until > 0 || connection.wants()) what |= EPOLLIN;
  if (!connection.unsent().empty()) what |= EPOLLOUT;
  if (connection.awaits() && !client.has_ended) what |= EPOLLRDHUP;
  if (client.has_ended) client.connection->client_ends();
  if (what == client.watched) return;
  client.watched = what;
  epoll_event event{what, {}};
  event.data.u64 = number;
  ::epoll_ctl(events, EPOLL_CTL_MOD, client.socket, &event);
}

void Server::Impl::close(Number number) {
  const auto found = clients.find(number);
  ::close(found->second.socket);
  clients.erase(found);
}

void Server::Impl::expire(double now) {
  std::vector<Number> numbers;
  for (const auto& [number, client] : clients) numbers.push_back(number);
  for (const Number number : numbers) {
    Client& client = clients.at(number);
    if (client.drained_until > 0 && now >= client.drained_until) {
      close(number);
      continue;
    }
    client.connection->feed(now);
    client.connection->expire(now);
    flush(number, now);
  }
  if (accepts_again_at == 0 || now < accepts_again_at) return;
  accepts_again_at = 0;
  epoll_event event{EPOLLIN, {}};
  event.data.u64 = listener_event;
  ::epoll_ctl(events, EPOLL_CTL_ADD, listener, &event);
}

namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

}  // namespace

int listen_on(const std::string& address, int port, const std::string& address_flag, const std::string& port_flag) {
  // This name means the loopback everywhere (RFC 6761), also where no /etc/hosts says so, as in a minimal container.
  const std::string host = address == "localhost" ? "127.0.0.1" : address;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  if (status != 0)
    throw base::ConfigError(
        base::say("{} is '{}', which is not an address: {}", address_flag, address, ::gai_strerror(status)));
  constexpr int waiting = 64;
  int code = 0;
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    base::Descriptor listener = host::socket_at(SOCK_STREAM | SOCK_NONBLOCK, at->ai_addr, at->ai_addrlen, waiting);
    if (listener) return listener.release();
    code = errno;
    if (code == EADDRINUSE) break;
  }
  if (code == EADDRINUSE)
    throw PortHeld(
        base::say("port {} is held by {}: end it or choose another {}", port, host::port_holder(port), port_flag));
  throw base::ConfigError(base::say("cannot listen on {} port {}: {}; choose another {}", address, port,
                                      base::system_cause(code), code == EACCES ? port_flag : address_flag));
}

}  // namespace troika::http
