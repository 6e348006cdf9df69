#include "http/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/port_holder.h"

namespace troika::http {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

// -1: errno says why.
int bound_to(const addrinfo& at) {
  const int listener = ::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return -1;
  const int on = 1, off = 0;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (at.ai_family == AF_INET6) ::setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  constexpr int waiting = 64;
  if (::bind(listener, at.ai_addr, at.ai_addrlen) == 0 && ::listen(listener, waiting) == 0) return listener;
  const int code = errno;
  ::close(listener);
  errno = code;
  return -1;
}

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
        fmt::format("{} is '{}' but that is no address: {}", address_flag, address, ::gai_strerror(status)));
  int code = 0;
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    const int listener = bound_to(*at);
    if (listener >= 0) return listener;
    code = errno;
    if (code == EADDRINUSE) break;
  }
  if (code == EADDRINUSE)
    throw PortHeld(
        fmt::format("port {} is held by {}: end it or choose another {}", port, base::port_holder(port), port_flag));
  throw base::ConfigError(fmt::format("cannot listen on {} port {}: {}; choose another {}", address, port,
                                      std::strerror(code), code == EACCES ? port_flag : address_flag));
}

int port_of(int listener) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &length);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

}  // namespace troika::http
