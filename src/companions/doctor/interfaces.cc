#include "doctor/interfaces.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "doctor/tree.h"
#include "host/network.h"

namespace troika::doctor {
namespace {

constexpr const char* report_origin = "a host's interface";

bool begins_with(const std::string& text, std::string_view beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

}  // namespace

bool carries_runs(const Interface& one) {
  for (const char* beginning : {"docker", "br-", "veth", "virbr"})
    if (begins_with(one.name, beginning)) return false;
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

nlohmann::json to_json(const Interface& one) {
  nlohmann::json addresses = nlohmann::json::array();
  for (const Address& address : one.addresses)
    addresses.push_back({{"text", address.text}, {"prefix", address.prefix}});
  return {{"name", one.name},      {"up", one.up ? 1 : 0}, {"wireless", one.wireless ? 1 : 0},
          {"mtu", one.mtu},        {"duplex", one.duplex}, {"megabits", one.megabits},
          {"addresses", addresses}};
}

Interface parse_interface(const nlohmann::json& json) {
  Interface one;
  one.name = base::json_string(json, "name", report_origin);
  one.up = base::json_int(json, "up", report_origin) != 0;
  one.wireless = base::json_int(json, "wireless", report_origin) != 0;
  one.mtu = base::json_int(json, "mtu", report_origin);
  one.megabits = base::json_int(json, "megabits", report_origin);
  one.duplex = base::json_string(json, "duplex", report_origin);
  for (const nlohmann::json& address : base::json_array(json, "addresses", report_origin))
    one.addresses.push_back({base::json_string(address, "text", report_origin),
                             static_cast<int>(base::json_int(address, "prefix", report_origin))});
  return one;
}

}  // namespace troika::doctor
