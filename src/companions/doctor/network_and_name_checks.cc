#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "doctor/check.h"
#include "doctor/tree.h"
#include "host/memory.h"

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

// The faults of one interface while the doctor measured.
void add_link_faults(const HostView& view, const Interface& one, std::vector<Finding>& findings) {
  if (one.duplex == "half")
    findings.push_back(found(Status::warn, base::say("{} runs at half duplex", one.name), base::say("full duplex, no errors"),
                             base::say("Let {} and its switch port both negotiate: a fixed setting on one end gives half duplex.", one.name)));
  if (!view.measured) return;
  const auto& before = view.measured->before.link_errors;
  const auto& after = view.measured->after.link_errors;
  if (before.count(one.name) != 0 && after.count(one.name) != 0) {
    const std::int64_t errors = after.at(one.name) - before.at(one.name);
    if (errors >= few_errors)
      findings.push_back(found(Status::warn, base::say("{}: {} within seconds", one.name, base::counted_text(errors, "error")),
                               base::say("no errors"), base::say("Change the cable of {}, or the port it is plugged into.", one.name)));
  }
  const auto changes = view.measured->carrier_changes.find(one.name);
  if (changes != view.measured->carrier_changes.end() && changes->second > 0)
    findings.push_back(found(Status::warn, base::say("{} lost or regained its link {} within seconds", one.name, base::counted_text(changes->second, "time")),
                             base::say("a stable link"), base::say("Change the cable of {}, or the port it is plugged into.", one.name)));
}

bool begins(const std::string& text, std::string_view with) { return text.compare(0, with.size(), with) == 0; }

// What /etc/hosts says of a name, as far as that file goes.
std::vector<std::string> addresses_in_hosts_file(const HostView& view, const std::string& name) {
  std::vector<std::string> addresses;
  std::istringstream lines(host::content_or_empty(view.etc + "/hosts"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string address, word;
    words >> address;
    while (words >> word)
      if (word == name) addresses.push_back(address);
  }
  return addresses;
}

// Whether a variable of NCCL's or Gloo's names an interface of this host. NCCL's are beginnings of names, "=" before them says
// whole names, "^" says which not.
bool names_an_interface(const HostView& view, const std::string& value, bool beginnings) {
  const bool whole = !beginnings || begins(value, "=");
  if (begins(value, "^")) return true;
  for (const std::string& word : base::split(begins(value, "=") ? value.substr(1) : value, ',')) {
    const std::string name = word.substr(0, word.find(':'));
    for (const Interface& one : view.interfaces)
      if (whole ? one.name == name : begins(one.name, name)) return true;
  }
  return false;
}

}  // namespace

std::vector<Finding> check_port(const HostView& view) {
  const int port = view.want.port;
  switch (view.port) {
    case PortState::not_asked:  // of several hosts only the first has the store
      if (view.want.hosts == Want::Hosts::several) return {};
      return {unchecked(base::say("no port was given (--master-port)"))};
    case PortState::of_this_launch:
      return {well(base::say("{}: this launch uses it", port), base::say("free on the first host, open to the others"))};
    case PortState::free:
      return {well(base::say("{} is free", port), base::say("free on the first host, open to the others"))};
    case PortState::taken:
      return {found(Status::fail, base::say("{} is held by {}", port, view.port_holder), base::say("free on the first host, open to the others"),
                    base::say("Stop that program, or choose another --master-port on every host."))};
    case PortState::forbidden:
      break;
  }
  return {found(Status::fail, base::say("this user may not use {}", port), base::say("free on the first host, open to the others"),
                base::say("Choose a --master-port above 1023 on every host."))};
}

std::vector<Finding> check_port_range(const HostView& view) {
  std::istringstream words(host::content_or_empty(view.proc + "/sys/net/ipv4/ip_local_port_range"));
  int low = 0, high = 0;
  if (!(words >> low >> high)) return {unchecked(base::say("{} is missing or not readable", "ip_local_port_range"))};
  const base::Text measured = base::say("the system assigns {} to {}", low, high);
  if (view.want.port == 0) return {well(measured, base::say("a --master-port outside that range"))};
  const base::Text wanted = base::say("{} outside that range", view.want.port);
  if (view.want.port < low || view.want.port > high) return {well(measured, wanted)};
  return {found(Status::warn, measured, wanted, base::say("Another program may be assigned port {} at any time: choose a --master-port outside {} to {}.", view.want.port, low, high))};
}

std::vector<Finding> check_mtu(const HostView& view) {
  std::vector<std::string> all;
  std::vector<Finding> findings;
  for (const Interface& one : running(view)) {
    if (one.mtu == 0) continue;
    all.push_back(fmt::format("{} {}", one.name, one.mtu));
    if (one.mtu < least_mtu)
      findings.push_back(found(Status::warn, base::verbatim(all.back()), base::say("at least {}, the same on hosts and switch", least_mtu),
                               base::say("Raise the MTU of {}: one this small costs speed, and some networks drop larger packets.", one.name)));
  }
  if (all.empty()) return {unchecked(base::say("no network interface is up"))};
  if (findings.empty()) findings.push_back(well(base::verbatim(list(all)), base::say("at least {}, the same on hosts and switch", least_mtu)));
  return findings;
}

std::vector<Finding> check_nic_choice(const HostView& view) {
  const std::string& stated = view.want.interface;
  if (!stated.empty()) {
    const Interface* one = find_interface(view.interfaces, stated);
    const base::Text wanted = base::say("{} up, with an address", stated);
    if (one == nullptr)
      return {found(Status::fail, base::say("there is no interface {}", stated), wanted, base::say("Give comm.interface a name that `ip address` lists, or leave it out."))};
    if (!one->up || one->addresses.empty())
      return {
          found(Status::fail, base::say("{} is down or has no address", stated), wanted, base::say("Bring {} up and give it an address, or name another comm.interface.", stated))};
    return {well(base::verbatim(stated), wanted)};
  }
  const std::string name = default_interface(view);
  const Interface* one = find_interface(view.interfaces, name);
  if (one == nullptr) return {unchecked(base::say("there is no default route"))};
  const std::vector<Interface> others = running(view);
  const auto wired = std::find_if(others.begin(), others.end(),
                                  [](const Interface& other) { return !other.wireless && !other.addresses.empty(); });
  const base::Text measured = base::say("traffic leaves through {}", name), wanted = base::say("a wired interface");
  if (!one->wireless) return {well(measured, wanted)};
  if (wired == others.end()) return {found(Status::note, measured, wanted, base::say("A cable would be faster and steadier than Wi-Fi."))};
  return {found(Status::warn, measured, wanted, base::say("Traffic leaves through {0} although {1} is wired: set comm.interface to {1}.", name, wired->name))};
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
        findings.push_back(found(Status::warn, base::say("{} and {} are both in {}", interfaces[i].name, interfaces[j].name, subnet),
                                 base::say("one interface in each subnet"),
                                 base::say("Replies may leave through the other interface: put {} and {} in different subnets or set comm.interface.", interfaces[i].name, interfaces[j].name)));
      }
    }
  if (all.empty()) return {unchecked(base::say("no network interface is up"))};
  if (findings.empty()) findings.push_back(well(base::verbatim(list(all)), base::say("one interface in each subnet")));
  return findings;
}

std::vector<Finding> check_speed(const HostView& view) {
  std::vector<Finding> findings;
  std::vector<std::string> known;
  for (const Interface& one : running(view)) {
    add_link_faults(view, one, findings);
    if (one.megabits > 0) known.push_back(fmt::format("{} {} Mbit/s", one.name, one.megabits));
  }
  if (!findings.empty()) return findings;
  if (known.empty()) return {unchecked(base::say("the interfaces do not report their speed (virtual)"))};
  return {well(base::verbatim(list(known)), base::say("full duplex, no errors"))};
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
      const base::Text measured = base::verbatim(fmt::format("{}: {}, {}", name, state, physical));
      if (state.find("ACTIVE") != std::string::npos) {
        active.push_back(name);
      } else if (state.find("INIT") != std::string::npos) {
        findings.push_back(found(Status::warn, measured, base::verbatim("4: ACTIVE, 5: LinkUp"),
                                 base::say("{} waits for a subnet manager (sm_lid {}): start opensm on one host or on the switch.", name, word_in(port + "/sm_lid"))));
      } else {
        findings.push_back(
            found(Status::warn, measured, base::verbatim("4: ACTIVE, 5: LinkUp"), base::say("{} has no link: check its cable and the port at the other end.", name)));
      }
    }
  if (!findings.empty()) return findings;
  if (active.empty()) return {well(base::say("no InfiniBand"), base::say("active ports, if any"))};
  return {well(base::verbatim(list(active)), base::say("active ports, if any"))};
}

std::vector<Finding> check_clock(const HostView& view) {
  if (!view.clock) return {unchecked(base::say("the system does not report it"))};
  const base::Text wanted = base::say("synchronized by a time daemon");
  const std::string error = base::format_duration(view.clock->error_seconds);
  if (view.clock->synchronised) return {well(base::say("synchronized, at most {} off", error), wanted)};
  return {found(Status::note, base::say("not synchronized, as far as the system knows"), wanted, base::say("Install chrony if timestamps of several hosts must agree; training does not need it."))};
}

std::vector<Finding> check_names(const HostView& view) {
  std::vector<std::string> addresses = addresses_in_hosts_file(view, view.name);
  if (addresses.empty()) {
    if (!view.resolve) return {unchecked(base::say("{} is not in /etc/hosts, and name servers were not queried", view.name))};
    const auto resolved = view.resolve(view.name);
    if (!resolved) return {unchecked(base::say("no answer within seconds for {}", view.name))};
    addresses = *resolved;
  }
  const base::Text wanted = base::say("the host name resolves to an address that others reach");
  if (addresses.empty())
    return {found(Status::note, base::say("{} has no address", view.name), wanted, base::say("Give --master-addr as an IP address, or add the name to /etc/hosts on every host."))};
  const base::Text measured = base::verbatim(fmt::format("{} = {}", view.name, base::join(addresses, ", ")));
  const bool reached = std::any_of(addresses.begin(), addresses.end(), [](const std::string& address) {
    return !begins(address, "127.") && address != "::1" && !begins(address, "fe80:");
  });
  if (reached) return {well(measured, wanted)};
  if (view.want.hosts == Want::Hosts::one) return {well(measured, base::say("any address, on one host"))};
  return {found(Status::warn, measured, wanted, base::say("/etc/hosts maps {} to {}, which no other host reaches: give --master-addr as an IP address, or correct that line.", view.name, addresses.front()))};
}

std::vector<Finding> check_environment(const HostView& view) {
  std::vector<Finding> findings;
  for (const char* name : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
    const auto variable = view.environment.find(name);
    if (variable == view.environment.end() || variable->second.empty()) continue;
    const bool beginnings = begins(name, "NCCL");
    if (names_an_interface(view, variable->second, beginnings)) continue;
    findings.push_back(found(Status::fail, base::verbatim(fmt::format("{}={}", name, variable->second)),
                             base::say("an interface of this host, if one is named"), base::say("Unset {}, or name an interface that `ip address` lists.", name)));
  }
  if (findings.empty()) findings.push_back(well(base::say("names existing interfaces"), base::say("an interface of this host, if one is named")));
  return findings;
}

}  // namespace troika::doctor
