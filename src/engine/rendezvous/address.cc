#include "rendezvous/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::rendezvous {
namespace {

using base::ConfigError;

// The interface in "fe80::1%eth0"; "" where none is given.
std::string scope_of(const std::string& address) {
  const std::size_t percent = address.find('%');
  return percent == std::string::npos ? "" : address.substr(percent + 1);
}

bool parse_version_6(const std::string& address, in6_addr* bytes) {
  const std::size_t percent = address.find('%');
  if (percent != std::string::npos && percent + 1 == address.size()) return false;
  return ::inet_pton(AF_INET6, address.substr(0, percent).c_str(), bytes) == 1;
}

base::Text names_of_interfaces() {
  const std::unique_ptr<struct if_nameindex, decltype(&::if_freenameindex)> all(::if_nameindex(), &::if_freenameindex);
  std::vector<std::string> names;
  for (auto* at = all.get(); at != nullptr && at->if_index != 0; ++at) names.emplace_back(at->if_name);
  return names.empty() ? base::say("none") : base::verbatim(base::join(names, ", "));
}

bool is_interface(const std::string& scope) {
  std::int64_t number = 0;
  char name[IF_NAMESIZE];
  if (base::parse_int(scope, &number))
    return number > 0 && number <= UINT32_MAX && ::if_indextoname(static_cast<unsigned>(number), name) != nullptr;
  return ::if_nametoindex(scope.c_str()) != 0;
}

void check_scope(const std::string& what, const std::string& address, const in6_addr& bytes) {
  const std::string scope = scope_of(address);
  if (scope.empty() && IN6_IS_ADDR_LINKLOCAL(&bytes))
    throw ConfigError(
        base::say("{} is '{}', a link-local address, which needs an interface of this host, as in '{}%eth0'; this host "
                  "has {}",
                  what, address, address, names_of_interfaces()));
  if (!scope.empty() && !is_interface(scope))
    throw ConfigError(base::say("{} is '{}', but this host has no interface '{}'; it has {}", what, address, scope,
                                names_of_interfaces()));
}

[[noreturn]] void refuse_address(const std::string& what, const std::string& text) {
  throw ConfigError(base::say("{} is '{}', but must be a host name or address, such as 10.0.0.1", what, text));
}

// Without brackets and port.
void check_address(const std::string& what, const std::string& text, const std::string& address) {
  in6_addr bytes{};
  if (address.find_first_of(":%") != std::string::npos) {
    if (!parse_version_6(address, &bytes))
      throw ConfigError(
          base::say("{} is '{}', but '{}' is not an IPv6 address; write it with a port as [ADDRESS]:PORT",
                    what, text, address));
    return check_scope(what, address, bytes);
  }
  if (address.empty() || address.find_first_of("[]") != std::string::npos) refuse_address(what, text);
}

int port_in(const std::string& what, const std::string& text, const std::string& digits) {
  std::int64_t port = 0;
  if (!base::parse_int(digits, &port) || port < 1 || port > 65535)
    throw ConfigError(base::say("{} is '{}', but its port must be from 1 to 65535", what, text));
  return static_cast<int>(port);
}

bool can_bind(int family, const sockaddr* address, socklen_t length) {
  const base::Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return socket && ::bind(socket.number(), address, length) == 0;
}

}  // namespace

Endpoint parse_endpoint(const std::string& what, const std::string& text) {
  Endpoint end;
  std::string rest;
  const bool odd = std::any_of(text.begin(), text.end(), [](unsigned char byte) {
    return byte <= ' ' || byte == '/' || byte == '@' || byte == ',';
  });
  if (odd) refuse_address(what, text);
  if (text.rfind('[', 0) == 0) {
    const std::size_t close = text.find(']');
    if (close == std::string::npos)
      throw ConfigError(base::say("{} is '{}', but its bracket is not closed; write [ADDRESS]:PORT", what, text));
    end.address = text.substr(1, close - 1);
    rest = text.substr(close + 1);
    if (end.address.find(':') == std::string::npos || (!rest.empty() && rest.front() != ':'))
      throw ConfigError(
          base::say("{} is '{}', but brackets enclose an IPv6 address: write [ADDRESS]:PORT", what, text));
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    end.address = text.substr(0, text.find(':'));
    rest = text.substr(text.find(':'));
  } else {
    end.address = text;
  }
  check_address(what, text, end.address);
  if (!rest.empty()) end.port = port_in(what, text, rest.substr(1));
  return end;
}

std::string endpoint_text(const std::string& address, int port) {
  const bool brackets = address.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(brackets ? "[{}]:{}" : "{}:{}"), address, port);
}

bool is_numeric_address(const std::string& address) {
  in6_addr bytes{};
  return ::inet_pton(AF_INET, address.c_str(), &bytes) == 1 || parse_version_6(address, &bytes);
}

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || (is_numeric_address(address) && address.rfind("127.", 0) == 0);
}

std::string loopback_address() {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (can_bind(AF_INET, reinterpret_cast<const sockaddr*>(&four), sizeof four)) return "127.0.0.1";
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_loopback;
  return can_bind(AF_INET6, reinterpret_cast<const sockaddr*>(&six), sizeof six) ? "::1" : "127.0.0.1";
}

}  // namespace troika::rendezvous
