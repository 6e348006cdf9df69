#include "rendezvous/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace troika::rendezvous {

Socket::~Socket() {
  if (socket_ >= 0) ::close(socket_);
}

bool Socket::ready(short events, double until) const {
  for (;;) {
    const double left = until - base::monotonic_seconds();
    const int wait_ms = static_cast<int>(std::ceil(std::clamp(left, 0.0, 3600.0) * 1000));
    pollfd polled{socket_, events, 0};
    const int count = ::poll(&polled, 1, wait_ms);
    if (count > 0) return true;
    if (count == 0 && base::monotonic_seconds() >= until) return false;
    if (count < 0 && errno != EINTR) return false;
  }
}

// A host that vanishes without a word is noticed by the system within about 30 s.
static void set_options(int socket) {
  const int on = 1, idle_seconds = 15, interval_seconds = 5, probes = 3, unacknowledged_ms = 30000;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof interval_seconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
}

// TCP lets a socket connect to itself when nobody listens on a port of the range that outgoing connections draw from.
static bool connected_to_itself(int socket) {
  sockaddr_in here{}, there{};
  socklen_t length = sizeof here;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &length) != 0) return false;
  length = sizeof there;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &length) != 0) return false;
  return here.sin_port == there.sin_port && here.sin_addr.s_addr == there.sin_addr.s_addr;
}

bool Socket::connect(const std::string& address, int port, double until, std::string* cause) {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  // This name means the loopback everywhere (RFC 6761), also where no /etc/hosts says so, as in a minimal container.
  const std::string host = address == "localhost" ? "127.0.0.1" : address;
  const int looked_up = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (looked_up != 0) {
    *cause = ::gai_strerror(looked_up);
    return false;
  }
  socket_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int code = socket_ < 0 ? errno : 0;
  if (socket_ >= 0 && ::connect(socket_, found->ai_addr, found->ai_addrlen) != 0) {
    code = errno;
    if (code == EINPROGRESS) {
      socklen_t length = sizeof code;
      if (!ready(POLLOUT, until))
        code = ETIMEDOUT;
      else
        ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &code, &length);
    }
  }
  ::freeaddrinfo(found);
  if (code != 0) {
    *cause = std::strerror(code);
    return false;
  }
  if (connected_to_itself(socket_)) {
    *cause = "nobody listens there";
    return false;
  }
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
  sockaddr_in address{};
  socklen_t length = sizeof address;
  char text[INET_ADDRSTRLEN] = {};
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "127.0.0.1";
  return ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text) == nullptr ? "127.0.0.1" : text;
}

void Socket::shut() {
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

// Inodes of sockets that listen on `port`. Line: "sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout
// inode".
static void listening_inodes(const std::string& table, int port, std::set<std::string>& inodes) {
  std::istringstream lines(base::read_file(table));
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, inode;
    words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
    const auto colon = local.rfind(':');
    if (state != "0A" || colon == std::string::npos) continue;
    if (std::strtol(local.c_str() + colon + 1, nullptr, 16) == port) inodes.insert(inode);
  }
}

static bool holds(const std::string& process, const std::set<std::string>& inodes) {
  const std::string folder = "/proc/" + process + "/fd";
  for (const std::string& name : base::list_directory(folder)) {
    char target[64] = {};
    if (::readlink((folder + "/" + name).c_str(), target, sizeof target - 1) <= 0) continue;
    const std::string text = target;
    if (text.rfind("socket:[", 0) == 0 && inodes.count(text.substr(8, text.size() - 9)) > 0) return true;
  }
  return false;
}

std::string port_holder(int port) {
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    try {
      listening_inodes(table, port, inodes);
    } catch (const base::DataError&) {  // no such protocol here
    }
  }
  for (const std::string& process : base::list_directory("/proc")) {
    if (inodes.empty() || process.find_first_not_of("0123456789") != std::string::npos) continue;
    try {
      if (holds(process, inodes)) {
        return fmt::format("'{}' (pid {})", base::trim(base::read_file("/proc/" + process + "/comm")), process);
      }
    } catch (const base::DataError&) {  // another user's process, or one that has just ended
    }
  }
  return "another program";
}

}  // namespace troika::rendezvous
