#include "host/interface_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <bitset>
#include <memory>

namespace troika::host {
namespace {

std::string bytes_of(const sockaddr* address) {
  const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
  const auto* four = reinterpret_cast<const sockaddr_in*>(address);
  return address->sa_family == AF_INET6 ? std::string(reinterpret_cast<const char*>(&six->sin6_addr), 16)
                                        : std::string(reinterpret_cast<const char*>(&four->sin_addr), 4);
}

int prefix_of(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  std::size_t ones = 0;
  for (const unsigned char byte : bytes_of(mask)) ones += std::bitset<8>(byte).count();
  return static_cast<int>(ones);
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, &::freeifaddrs);
  std::vector<InterfaceAddress> addresses;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    InterfaceAddress& one = addresses.emplace_back();
    one.interface = at->ifa_name;
    one.up = (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_RUNNING) != 0;
    if (at->ifa_addr == nullptr) continue;
    one.family = at->ifa_addr->sa_family;
    if (one.family != AF_INET && one.family != AF_INET6) continue;
    char text[INET6_ADDRSTRLEN] = {};
    one.text = ::inet_ntop(one.family, bytes_of(at->ifa_addr).data(), text, sizeof text) == nullptr ? "" : text;
    const auto* six = reinterpret_cast<const sockaddr_in6*>(at->ifa_addr);
    if (one.family == AF_INET6 && six->sin6_scope_id != 0) one.scope = "%" + one.interface;
    one.prefix = prefix_of(at->ifa_netmask);
  }
  return addresses;
}

}  // namespace troika::host
