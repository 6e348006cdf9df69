#include "host/network.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <bitset>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::host {
namespace {

int port_in(const sockaddr* address) {
  return ntohs(address->sa_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(address)->sin6_port
                                              : reinterpret_cast<const sockaddr_in*>(address)->sin_port);
}

}  // namespace

base::Descriptor socket_at(int type, const sockaddr* address, socklen_t length, int waiting) {
  base::Descriptor socket(::socket(address->sa_family, type | SOCK_CLOEXEC, 0));
  if (!socket) return socket;
  const int on = 1, off = 0;
  const auto reuse = [&] { ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); };
  // A free port is bound first: with the option two processes could get the same one, and the second could not listen.
  const bool any_port = port_in(address) == 0;
  if (!any_port) reuse();
  if (address->sa_family == AF_INET6) ::setsockopt(socket.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const bool bound = ::bind(socket.number(), address, length) == 0;
  if (bound && any_port) reuse();
  const bool listens = (type & ~SOCK_NONBLOCK) == SOCK_STREAM;
  if (bound && (!listens || ::listen(socket.number(), waiting) == 0)) return socket;
  const int code = errno;
  socket.close();
  errno = code;
  return socket;
}

base::Descriptor socket_at(int type, const std::string& address, int port, int waiting) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    errno = EADDRNOTAVAIL;
    return {};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  return socket_at(type, found->ai_addr, found->ai_addrlen, waiting);
}

base::Descriptor socket_at_every_network(int type, int port, int waiting) {
  base::Descriptor both = socket_at(type, "::", port, waiting);
  if (both || errno == EADDRINUSE) return both;
  return socket_at(type, "0.0.0.0", port, waiting);
}

int port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length);
  return port_in(reinterpret_cast<const sockaddr*>(&bound));
}

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

base::Text port_holder(int port) {
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
        return base::verbatim(fmt::format("'{}' (pid {})", base::trim(base::read_file("/proc/" + process + "/comm")), process));
      }
    } catch (const base::DataError&) {  // another user's process, or one that has just ended
    }
  }
  return base::say("another program");
}

}  // namespace troika::host
