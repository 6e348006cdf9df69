#include "rendezvous/socket.h"

#include <linux/errqueue.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/say.h"
#include "host/thread_limit.h"

namespace troika::rendezvous {

namespace {

constexpr unsigned char prohibited_v4[] = {ICMP_PORT_UNREACH, ICMP_NET_ANO, ICMP_HOST_ANO, ICMP_PKT_FILTERED};
// The codes of RFC 4443: unreachable; prohibited, port unreachable, refused by policy, rejected route; no neighbour.
constexpr unsigned char unreachable_v6 = 1, prohibited_v6[] = {1, 4, 5, 6}, no_neighbour_v6 = 3;

template <std::size_t count>
bool is_among(const unsigned char (&codes)[count], unsigned char code) {
  return std::memchr(codes, code, count) != nullptr;
}

base::Cause cause_of(const sock_extended_err& error) {
  if (error.ee_origin == SO_EE_ORIGIN_ICMP && error.ee_type == ICMP_DEST_UNREACH) {
    if (is_among(prohibited_v4, error.ee_code)) return base::Cause::firewall;
    if (error.ee_code == ICMP_HOST_UNREACH) return base::Cause::nothing_at_address;
  }
  if (error.ee_origin == SO_EE_ORIGIN_ICMP6 && error.ee_type == unreachable_v6) {
    if (is_among(prohibited_v6, error.ee_code)) return base::Cause::firewall;
    if (error.ee_code == no_neighbour_v6) return base::Cause::nothing_at_address;
  }
  return base::Cause::not_told;
}

// Whether the system keeps what ICMP tells. Of a connection that is made, what passes would end it.
void keep_icmp(int socket, int family, int on) {
  if (family == AF_INET6)
    ::setsockopt(socket, SOL_IPV6, IPV6_RECVERR, &on, sizeof on);
  else
    ::setsockopt(socket, SOL_IP, IP_RECVERR, &on, sizeof on);
}

// Why a connection failed with this errno, where ICMP has told nothing.
base::Cause cause_of_connecting(int code) {
  if (code == ETIMEDOUT) return base::Cause::no_answer;
  if (code == EPERM) return base::Cause::firewall;
  return code == ECONNREFUSED ? base::Cause::rank_missing : base::cause_of_errno(code);
}

// The cause of a failed connection according to ICMP (version 4 or 6): firewall, nothing_at_address, or not_told.
base::Cause icmp_cause(int socket) {
  alignas(cmsghdr) char control[512];
  char data[256];
  iovec part{data, sizeof data};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return base::Cause::not_told;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    const bool is_error = (at->cmsg_level == SOL_IP && at->cmsg_type == IP_RECVERR) ||
                          (at->cmsg_level == SOL_IPV6 && at->cmsg_type == IPV6_RECVERR);
    if (!is_error) continue;
    sock_extended_err error{};
    std::memcpy(&error, CMSG_DATA(at), sizeof error);
    return cause_of(error);
  }
  return base::Cause::not_told;
}

}  // namespace

void ConnectCause::hear(base::Text text, base::Cause cause) {
  if (cause == base::Cause::no_answer && !text_.empty()) return;
  text_ = std::move(text);
  cause_ = cause;
}

base::Text connect_words(int code, base::Cause told) {
  const base::Text of_system = base::system_cause(code);
  if (told == base::Cause::firewall) return base::say("{}: a firewall blocks it", of_system);
  if (told == base::Cause::nothing_at_address) return base::say("{}: no reply from that address", of_system);
  return of_system;
}

Socket::~Socket() {
  if (socket_ >= 0) ::close(socket_);
}

// Time in which this process was stopped (Ctrl-Z, a suspended laptop) is none that the other side was silent for.
bool Socket::ready(short events, double until) const {
  constexpr double slice_seconds = 1, late_seconds = 0.5;
  for (;;) {
    const double before = base::monotonic_seconds();
    const double slice = std::clamp(until - before, 0.0, slice_seconds);
    pollfd polled{socket_, events, 0};
    const int count = ::poll(&polled, 1, static_cast<int>(std::ceil(slice * 1000)));
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
    const double now = base::monotonic_seconds();
    if (now - before > slice + late_seconds) until += now - before - slice;
    if (count == 0 && now >= until) return false;
  }
}

void set_options(int socket) {
  const int on = 1, idle_seconds = 15, interval_seconds = 5, probes = 3, unacknowledged_ms = 30000;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof interval_seconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
}

// The address of an end of a socket, as bytes that compare; `of` is getsockname or getpeername.
static std::string end_of(int socket, int (*of)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (of(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  return std::string(reinterpret_cast<const char*>(&address), length);
}

// The numeric address in such bytes; "" where they are none.
static std::string numeric(const std::string& end) {
  sockaddr_storage address{};
  std::memcpy(&address, end.data(), std::min(end.size(), sizeof address));
  char text[NI_MAXHOST] = {};  // with the interface of a link-local one
  if (end.empty() || ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(end.size()),
                                   text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
    return "";
  const std::string mapped = "::ffff:";  // version 4 by a socket of version 6
  return std::string(text).rfind(mapped, 0) == 0 ? text + mapped.size() : text;
}

std::string peer_address(int socket) { return numeric(end_of(socket, ::getpeername)); }

// TCP lets a socket connect to itself when nobody listens on a port of the range that outgoing connections draw from.
static bool connected_to_itself(int socket) {
  const std::string here = end_of(socket, ::getsockname), there = end_of(socket, ::getpeername);
  return !here.empty() && here == there;
}

namespace {

struct Address {
  int family = 0;
  std::string bytes;
};

struct Found {
  std::mutex mutex;
  std::condition_variable done_or_late;
  bool done = false;
  std::vector<Address> addresses;
  base::Text cause;
};

}  // namespace

// The system's look-up knows no deadline: one that is late continues in its thread, and its result is dropped.
static void look_up(const std::string& host, int port, const std::shared_ptr<Found>& found) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  const std::lock_guard<std::mutex> lock(found->mutex);
  if (status != 0) found->cause = base::verbatim(::gai_strerror(status));
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next)
    found->addresses.push_back(
        {at->ai_family, std::string(reinterpret_cast<const char*>(at->ai_addr), at->ai_addrlen)});
  if (list != nullptr) ::freeaddrinfo(list);
  found->done = true;
  found->done_or_late.notify_all();
}

// Empty: `cause` says why.
static std::vector<Address> addresses_of(const std::string& address, int port, double until, base::Text* cause) {
  // This name means the loopback everywhere (RFC 6761), also where no /etc/hosts says so, as in a minimal container.
  const std::string host = address == "localhost" ? loopback_address() : address;
  const auto found = std::make_shared<Found>();
  if (is_numeric_address(host)) {
    look_up(host, port, found);
  } else {
    host::start_thread([host, port, found] { look_up(host, port, found); }).detach();
  }
  std::unique_lock<std::mutex> lock(found->mutex);
  const auto left = std::chrono::duration<double>(std::max(until - base::monotonic_seconds(), 0.0));
  if (!found->done_or_late.wait_for(lock, left, [&] { return found->done; })) {
    *cause = base::say("the lookup of its name timed out");
    return {};
  }
  *cause = found->cause;
  return found->addresses;
}

bool Socket::connect(const std::string& address, int port, double until, base::Text* cause) {
  const std::vector<Address> found = addresses_of(address, port, until, cause);
  nobody_listens_ = !found.empty();
  no_network_ = !found.empty();
  no_address_ = found.empty();
  if (no_address_) cause_ = base::Cause::name_unknown;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double left = until - base::monotonic_seconds();
    const double this_one = until - left + left / static_cast<double>(found.size() - i);
    if (connect_to(found[i].family, found[i].bytes, this_one, cause)) return true;
    if (!is_numeric_address(address) && !is_loopback(address))
      *cause = base::say("{} at {}", *cause, numeric(found[i].bytes));
  }
  return false;
}

bool Socket::connect_to(int family, const std::string& address, double until, base::Text* cause) {
  if (socket_ >= 0) ::close(socket_);
  socket_ = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int code = socket_ < 0 ? errno : 0;
  keep_icmp(socket_, family, 1);
  const auto* to = reinterpret_cast<const sockaddr*>(address.data());
  if (socket_ >= 0 && ::connect(socket_, to, static_cast<socklen_t>(address.size())) != 0) {
    code = errno;
    if (code == EINPROGRESS) {
      socklen_t length = sizeof code;
      if (!ready(POLLOUT, until))
        code = ETIMEDOUT;
      else
        ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &code, &length);
    }
  }
  if (code != 0) {
    const base::Cause told = icmp_cause(socket_);
    cause_ = told != base::Cause::not_told ? told : cause_of_connecting(code);
    *cause = connect_words(code, told);
    if (code != ECONNREFUSED || told != base::Cause::not_told) nobody_listens_ = false;
    if (code != ENETUNREACH && code != ENETDOWN) no_network_ = false;
    return false;
  }
  if (connected_to_itself(socket_)) {
    *cause = base::say("no process listens there");
    cause_ = base::Cause::rank_missing;
    return false;
  }
  keep_icmp(socket_, family, 0);
  set_options(socket_);
  return true;
}

bool Socket::send_all(std::string_view bytes, double until) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    if (sent >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    if (!ready(POLLOUT, until)) return false;
  }
  return true;
}

Socket::Received Socket::receive(std::string& buffer, std::size_t most, double until) {
  for (;;) {
    if (!ready(POLLIN, until)) return Received::late;
    char block[65536];
    const ssize_t got = ::recv(socket_, block, std::min(sizeof block, most), 0);
    if (got > 0) {
      buffer.append(block, static_cast<std::size_t>(got));
      return Received::some;
    }
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) continue;
    return Received::gone;
  }
}

std::string Socket::local_address() const {
  const std::string here = numeric(end_of(socket_, ::getsockname));
  return here.empty() ? "127.0.0.1" : here;
}

int Socket::release() { return std::exchange(socket_, -1); }

void Socket::shut() {
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

}  // namespace troika::rendezvous
