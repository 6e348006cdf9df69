#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/file.h"
#include "base/text.h"
#include "doctor/check.h"
#include "doctor/tree.h"
#include "host/cgroup.h"

namespace troika::doctor {
namespace {

constexpr std::int64_t least_mtu = 1280;  // what IPv6 asks of every link
constexpr std::int64_t few_errors = 10;   // of a link while the doctor is there

std::vector<Interface> running(const HostView& view) {
  std::vector<Interface> some;
  for (const Interface& one : view.interfaces)
    if (one.up && carries_runs(one)) some.push_back(one);
  return some;
}

// By which interface the default route leaves; "": there is none.
std::string default_interface(const HostView& view) {
  std::istringstream lines(host::content_or_empty(view.proc + "/net/route"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, destination;
    words >> name >> destination;
    if (destination == "00000000") return name;
  }
  return "";
}

std::string list(const std::vector<std::string>& names) { return base::join(names, ", "); }

}  // namespace

std::vector<Finding> check_port(const HostView& view) {
  const int port = view.want.port;
  switch (view.port) {
    case PortState::not_asked:  // of several hosts only the first has the store
      if (view.want.hosts == Want::Hosts::several) return {};
      return {unchecked(tell(Text::no_port))};
    case PortState::of_this_launch:
      return {well(tell(Text::port_of_launch, port), tell(Text::port_free_wanted))};
    case PortState::free:
      return {well(tell(Text::port_free, port), tell(Text::port_free_wanted))};
    case PortState::taken:
      return {found(Status::fail, tell(Text::port_taken, port, view.port_holder), tell(Text::port_free_wanted),
                    tell(Text::port_taken_advice))};
    case PortState::forbidden:
      break;
  }
  return {found(Status::fail, tell(Text::port_forbidden, port), tell(Text::port_free_wanted),
                tell(Text::port_forbidden_advice))};
}

std::vector<Finding> check_port_range(const HostView& view) {
  std::istringstream words(host::content_or_empty(view.proc + "/sys/net/ipv4/ip_local_port_range"));
  int low = 0, high = 0;
  if (!(words >> low >> high)) return {unchecked(tell(Text::no_file, "ip_local_port_range"))};
  const Told measured = tell(Text::port_range, low, high);
  if (view.want.port == 0) return {well(measured, tell(Text::port_range_known))};
  const Told wanted = tell(Text::port_outside, view.want.port);
  if (view.want.port < low || view.want.port > high) return {well(measured, wanted)};
  return {found(Status::warn, measured, wanted, tell(Text::port_range_advice, view.want.port, low, high))};
}

std::vector<Finding> check_mtu(const HostView& view) {
  std::vector<std::string> all;
  std::vector<Finding> findings;
  for (const Interface& one : running(view)) {
    if (one.mtu == 0) continue;
    all.push_back(fmt::format("{} {}", one.name, one.mtu));
    if (one.mtu < least_mtu)
      findings.push_back(found(Status::warn, plain(all.back()), tell(Text::mtu_wanted, least_mtu),
                               tell(Text::mtu_small_advice, one.name)));
  }
  if (all.empty()) return {unchecked(tell(Text::no_interface))};
  if (findings.empty()) findings.push_back(well(plain(list(all)), tell(Text::mtu_wanted, least_mtu)));
  return findings;
}

std::vector<Finding> check_nic_choice(const HostView& view) {
  const std::string& stated = view.want.interface;
  if (!stated.empty()) {
    const Interface* one = find_interface(view.interfaces, stated);
    const Told wanted = tell(Text::interface_there, stated);
    if (one == nullptr)
      return {found(Status::fail, tell(Text::interface_absent, stated), wanted, tell(Text::interface_absent_advice))};
    if (!one->up || one->addresses.empty())
      return {
          found(Status::fail, tell(Text::interface_down, stated), wanted, tell(Text::interface_down_advice, stated))};
    return {well(plain(stated), wanted)};
  }
  const std::string name = default_interface(view);
  const Interface* one = find_interface(view.interfaces, name);
  if (one == nullptr) return {unchecked(tell(Text::no_default_route))};
  const std::vector<Interface> others = running(view);
  const auto wired = std::find_if(others.begin(), others.end(),
                                  [](const Interface& other) { return !other.wireless && !other.addresses.empty(); });
  const Told measured = tell(Text::leaves_by, name), wanted = tell(Text::wired_wanted);
  if (!one->wireless) return {well(measured, wanted)};
  if (wired == others.end()) return {found(Status::note, measured, wanted, tell(Text::only_wireless_advice))};
  return {found(Status::warn, measured, wanted, tell(Text::wireless_advice, name, wired->name))};
}

std::vector<Finding> check_subnets(const HostView& view) {
  std::vector<Finding> findings;
  std::vector<std::string> all;
  const std::vector<Interface> interfaces = running(view);
  const auto subnets_of = [](const Interface& one) {
    std::vector<std::string> subnets;
    for (const Address& address : one.addresses)
      if (const std::string subnet = subnet_of(address); !subnet.empty() && address.prefix < 32)
        subnets.push_back(subnet);
    return subnets;
  };
  for (std::size_t i = 0; i < interfaces.size(); ++i)
    for (const std::string& subnet : subnets_of(interfaces[i])) {
      all.push_back(fmt::format("{} {}", interfaces[i].name, subnet));
      for (std::size_t j = i + 1; j < interfaces.size(); ++j) {
        const std::vector<std::string> others = subnets_of(interfaces[j]);
        if (std::find(others.begin(), others.end(), subnet) == others.end()) continue;
        findings.push_back(found(Status::warn, tell(Text::same_subnet, interfaces[i].name, interfaces[j].name, subnet),
                                 tell(Text::subnets_wanted),
                                 tell(Text::same_subnet_advice, interfaces[i].name, interfaces[j].name)));
      }
    }
  if (all.empty()) return {unchecked(tell(Text::no_interface))};
  if (findings.empty()) findings.push_back(well(plain(list(all)), tell(Text::subnets_wanted)));
  return findings;
}

namespace {

// Of one interface while the doctor measured.
void add_link_faults(const HostView& view, const Interface& one, std::vector<Finding>& findings) {
  if (one.duplex == "half")
    findings.push_back(found(Status::warn, tell(Text::half_duplex, one.name), tell(Text::full_duplex),
                             tell(Text::half_duplex_advice, one.name)));
  if (!view.measured) return;
  const auto& before = view.measured->before.link_errors;
  const auto& after = view.measured->after.link_errors;
  if (before.count(one.name) != 0 && after.count(one.name) != 0) {
    const std::int64_t errors = after.at(one.name) - before.at(one.name);
    if (errors >= few_errors)
      findings.push_back(found(Status::warn, tell(Text::link_errors, one.name, counted(errors, "error")),
                               tell(Text::no_errors), tell(Text::link_errors_advice, one.name)));
  }
  const auto changes = view.measured->carrier_changes.find(one.name);
  if (changes != view.measured->carrier_changes.end() && changes->second > 0)
    findings.push_back(found(Status::warn, tell(Text::carrier_changes, one.name, counted(changes->second, "time")),
                             tell(Text::no_carrier_changes), tell(Text::link_errors_advice, one.name)));
}

}  // namespace

std::vector<Finding> check_speed(const HostView& view) {
  std::vector<Finding> findings;
  std::vector<std::string> known;
  for (const Interface& one : running(view)) {
    add_link_faults(view, one, findings);
    if (one.megabits > 0) known.push_back(fmt::format("{} {} Mbit/s", one.name, one.megabits));
  }
  if (!findings.empty()) return findings;
  if (known.empty()) return {unchecked(tell(Text::no_speed))};
  return {well(plain(list(known)), tell(Text::full_duplex))};
}

std::vector<Finding> check_infiniband(const HostView& view) {
  std::vector<Finding> findings;
  std::vector<std::string> active;
  for (const std::string& device : entries_named(view.sys + "/class/infiniband", ""))
    for (const std::string& port : entries_named(device + "/ports", "")) {
      const std::string state = word_in(port + "/state"), physical = word_in(port + "/phys_state");
      const std::string name =
          fmt::format("{} port {}", device.substr(device.rfind('/') + 1), port.substr(port.rfind('/') + 1));
      if (physical.find("Disabled") != std::string::npos || physical.find("Sleep") != std::string::npos) continue;
      const Told measured = plain(fmt::format("{}: {}, {}", name, state, physical));
      if (state.find("ACTIVE") != std::string::npos) {
        active.push_back(name);
      } else if (state.find("INIT") != std::string::npos) {
        findings.push_back(found(Status::warn, measured, plain("4: ACTIVE, 5: LinkUp"),
                                 tell(Text::infiniband_init_advice, name, word_in(port + "/sm_lid"))));
      } else {
        findings.push_back(
            found(Status::warn, measured, plain("4: ACTIVE, 5: LinkUp"), tell(Text::infiniband_down_advice, name)));
      }
    }
  if (!findings.empty()) return findings;
  if (active.empty()) return {well(tell(Text::infiniband_none), tell(Text::infiniband_wanted))};
  return {well(plain(list(active)), tell(Text::infiniband_wanted))};
}

}  // namespace troika::doctor
