#include "doctor/tree.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "host/memory.h"

namespace troika::doctor {

std::string word_in(const std::string& path) { return base::trim(host::content_or_empty(path)); }

std::optional<std::int64_t> number_in(const std::string& path) {
  std::int64_t number = 0;
  if (!base::parse_int(word_in(path), &number)) return std::nullopt;
  return number;
}

std::optional<std::int64_t> number_behind(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, second;
    words >> first >> second;
    if (!first.empty() && first.back() == ':') first.pop_back();
    std::int64_t number = 0;
    if (first == name && base::parse_int(second, &number)) return number;
  }
  return std::nullopt;
}

std::vector<std::string> entries_named(const std::string& folder, const std::string& beginning) {
  std::vector<std::string> paths;
  try {
    for (const std::string& name : base::list_directory(folder))
      if (name.compare(0, beginning.size(), beginning) == 0) paths.push_back(folder + "/" + name);
  } catch (const base::DataError&) {  // not readable for this user: as if absent
  }
  return paths;
}

std::vector<std::string> resolve_now(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  std::vector<std::string> addresses;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &first) != 0) return addresses;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(first, &::freeaddrinfo);
  for (const addrinfo* entry = first; entry != nullptr; entry = entry->ai_next) {
    char text[NI_MAXHOST] = {};
    if (::getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) continue;
    if (std::find(addresses.begin(), addresses.end(), text) == addresses.end()) addresses.emplace_back(text);
  }
  return addresses;
}

std::optional<std::vector<std::string>> resolve_within(const std::string& name, double seconds, const Resolver& resolver) {
  const auto promise = std::make_shared<std::promise<std::vector<std::string>>>();
  std::future<std::vector<std::string>> answer = promise->get_future();
  std::thread([promise, name, resolver] { promise->set_value(resolver(name)); }).detach();
  if (answer.wait_for(std::chrono::duration<double>(seconds)) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

bool carries_runs(const Interface& one) {
  for (const char* beginning : {"docker", "br-", "veth", "virbr"})
    if (base::begins_with(one.name, beginning)) return false;
  return one.name != "lo";
}

void read_details(const std::string& sys, Interface& one) {
  const std::string folder = sys + "/class/net/" + one.name;
  one.wireless = base::directory_exists(folder + "/wireless") || base::directory_exists(folder + "/phy80211");
  one.mtu = number_in(folder + "/mtu").value_or(0);
  one.megabits = number_in(folder + "/speed").value_or(-1);
  if (one.megabits <= 0) one.megabits = -1;
  one.duplex = word_in(folder + "/duplex");
  if (one.duplex == "unknown") one.duplex.clear();
}

std::vector<Interface> read_interfaces(const std::string& sys) {
  std::map<std::string, Interface> by_name;
  for (const host::InterfaceAddress& entry : host::interface_addresses()) {
    Interface& one = by_name[entry.interface];
    one.name = entry.interface;
    one.up = entry.up;
    if (entry.family == AF_INET || entry.family == AF_INET6) one.addresses.push_back({entry.text, entry.prefix});
  }
  std::vector<Interface> interfaces;
  for (auto& [name, one] : by_name) {
    read_details(sys, one);
    interfaces.push_back(std::move(one));
  }
  return interfaces;
}

const Interface* find_interface(const std::vector<Interface>& among, const std::string& name) {
  const auto found = std::find_if(among.begin(), among.end(), [&](const Interface& one) { return one.name == name; });
  return found == among.end() ? nullptr : &*found;
}

const Interface* interface_with(const std::vector<Interface>& among, const std::string& address) {
  for (const Interface& one : among)
    for (const Address& own : one.addresses)
      if (own.text == address) return &one;
  return nullptr;
}

std::string subnet_of(const Address& address) {
  in_addr bits{};
  if (::inet_pton(AF_INET, address.text.c_str(), &bits) != 1 || address.prefix < 0 || address.prefix > 32) return "";
  const std::uint32_t mask = address.prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - address.prefix);
  bits.s_addr = htonl(ntohl(bits.s_addr) & mask);
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &bits, text, sizeof text);
  return fmt::format("{}/{}", text, address.prefix);
}

}  // namespace troika::doctor
