#include "doctor/echo.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/clock.h"

namespace troika::doctor {

std::optional<NumericAddress> numeric_address(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return std::nullopt;
  NumericAddress numeric;
  std::memcpy(&numeric.bytes, found->ai_addr, found->ai_addrlen);
  numeric.length = found->ai_addrlen;
  ::freeaddrinfo(found);
  return numeric;
}

int EchoLine::connect(const std::string& address, int port, double until) {
  socket_.close();
  const auto to = numeric_address(address, port);
  if (!to) return EINVAL;
  socket_ = base::Descriptor(::socket(to->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_) return errno;
  const int on = 1;
  ::setsockopt(socket_.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&to->bytes), to->length) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!ready(POLLOUT, until)) return ETIMEDOUT;
  int code = 0;
  socklen_t size = sizeof code;
  ::getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &code, &size);
  return code;
}

bool EchoLine::ask(echo::Ask what, std::uint32_t bytes, double until) {
  const std::array<std::uint32_t, 3> words = {htonl(echo::sign), htonl(static_cast<std::uint32_t>(what)), htonl(bytes)};
  return send(reinterpret_cast<const char*>(words.data()), echo::question_bytes, until);
}

bool EchoLine::send(const char* bytes, std::size_t count, double until) {
  while (count > 0) {
    const ssize_t some = ::send(socket_.number(), bytes, count, MSG_NOSIGNAL);
    if (some > 0) {
      bytes += some;
      count -= static_cast<std::size_t>(some);
    } else if (errno != EAGAIN && errno != EINTR) {
      return false;
    } else if (!ready(POLLOUT, until)) {
      return false;
    }
  }
  return true;
}

bool EchoLine::receive(char* bytes, std::size_t count, double until) {
  while (count > 0) {
    const ssize_t some = ::recv(socket_.number(), bytes, count, 0);
    if (some > 0) {
      bytes += some;
      count -= static_cast<std::size_t>(some);
    } else if (some == 0 || (errno != EAGAIN && errno != EINTR)) {
      return false;
    } else if (!ready(POLLIN, until)) {
      return false;
    }
  }
  return true;
}

std::string EchoLine::local_address() const {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  char text[NI_MAXHOST] = {};
  if (::getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&own), &length) != 0) return "";
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&own), length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) !=
      0)
    return "";
  return text;
}

bool EchoLine::ready(short events, double until) const {
  for (;;) {
    const double left = until - base::monotonic_seconds();
    pollfd polled{socket_.number(), events, 0};
    const int count = ::poll(&polled, 1, static_cast<int>(std::ceil(1000 * std::max(left, 0.0))));
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

}  // namespace troika::doctor
