#include "http/server.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "base/cause.h"
#include "host/network.h"

namespace troika::http {
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
