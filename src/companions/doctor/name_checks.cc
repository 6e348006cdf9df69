#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/text.h"
#include "base/units.h"
#include "doctor/check.h"
#include "host/memory.h"

namespace troika::doctor {
namespace {

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

std::vector<Finding> check_clock(const HostView& view) {
  if (!view.clock) return {unchecked(base::say("the system does not tell"))};
  const base::Text wanted = base::say("kept right by a time daemon");
  const std::string error = base::format_duration(view.clock->error_seconds);
  if (view.clock->synchronised) return {well(base::say("synchronised, at most {} off", error), wanted)};
  return {found(Status::note, base::say("not synchronised, as far as the system knows"), wanted, base::say("Install chrony if time stamps of several hosts are to agree; training does not need it."))};
}

std::vector<Finding> check_names(const HostView& view) {
  std::vector<std::string> addresses = addresses_in_hosts_file(view, view.name);
  if (addresses.empty()) {
    if (!view.resolve) return {unchecked(base::say("{} is not in /etc/hosts, and name servers were not asked", view.name))};
    const auto resolved = view.resolve(view.name);
    if (!resolved) return {unchecked(base::say("nothing answered within seconds for {}", view.name))};
    addresses = *resolved;
  }
  const base::Text wanted = base::say("the own name as an address that others reach");
  if (addresses.empty())
    return {found(Status::note, base::say("{} has no address", view.name), wanted, base::say("Give --master-addr as an address, or add the name to /etc/hosts on every host."))};
  const base::Text measured = base::verbatim(fmt::format("{} = {}", view.name, base::join(addresses, ", ")));
  const bool reached = std::any_of(addresses.begin(), addresses.end(), [](const std::string& address) {
    return !begins(address, "127.") && address != "::1" && !begins(address, "fe80:");
  });
  if (reached) return {well(measured, wanted)};
  if (view.want.hosts == Want::Hosts::one) return {well(measured, base::say("any address, on one host"))};
  return {found(Status::warn, measured, wanted, base::say("/etc/hosts maps {} to {}, which no other host reaches: give --master-addr as an address, or correct that line.", view.name, addresses.front()))};
}

std::vector<Finding> check_environment(const HostView& view) {
  std::vector<Finding> findings;
  for (const char* name : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
    const auto variable = view.environment.find(name);
    if (variable == view.environment.end() || variable->second.empty()) continue;
    const bool beginnings = begins(name, "NCCL");
    if (names_an_interface(view, variable->second, beginnings)) continue;
    findings.push_back(found(Status::fail, base::verbatim(fmt::format("{}={}", name, variable->second)),
                             base::say("an interface of this host, where one is named"), base::say("Unset {}, or name an interface that `ip address` lists.", name)));
  }
  if (findings.empty()) findings.push_back(well(base::say("names interfaces that are there"), base::say("an interface of this host, where one is named")));
  return findings;
}

}  // namespace troika::doctor
