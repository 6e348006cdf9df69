#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/text.h"
#include "base/units.h"
#include "doctor/check.h"
#include "host/cgroup.h"

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
  if (!view.clock) return {unchecked(tell(Text::clock_unknown))};
  const Told wanted = tell(Text::clock_wanted);
  const std::string error = base::format_duration(view.clock->error_seconds);
  if (view.clock->synchronised) return {well(tell(Text::clock_synchronised, error), wanted)};
  return {found(Status::note, tell(Text::clock_alone), wanted, tell(Text::clock_advice))};
}

std::vector<Finding> check_names(const HostView& view) {
  std::vector<std::string> addresses = addresses_in_hosts_file(view, view.name);
  if (addresses.empty()) {
    if (!view.resolve) return {unchecked(tell(Text::name_not_asked, view.name))};
    const auto resolved = view.resolve(view.name);
    if (!resolved) return {unchecked(tell(Text::name_server_silent, view.name))};
    addresses = *resolved;
  }
  const Told wanted = tell(Text::name_wanted);
  if (addresses.empty())
    return {found(Status::note, tell(Text::name_unknown, view.name), wanted, tell(Text::name_unknown_advice))};
  const Told measured = plain(fmt::format("{} = {}", view.name, base::join(addresses, ", ")));
  const bool reached = std::any_of(addresses.begin(), addresses.end(), [](const std::string& address) {
    return !begins(address, "127.") && address != "::1" && !begins(address, "fe80:");
  });
  if (reached) return {well(measured, wanted)};
  if (view.want.hosts == Want::Hosts::one) return {well(measured, tell(Text::name_wanted_alone))};
  return {found(Status::warn, measured, wanted, tell(Text::name_loopback_advice, view.name, addresses.front()))};
}

std::vector<Finding> check_environment(const HostView& view) {
  std::vector<Finding> findings;
  for (const char* name : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
    const auto variable = view.environment.find(name);
    if (variable == view.environment.end() || variable->second.empty()) continue;
    const bool beginnings = begins(name, "NCCL");
    if (names_an_interface(view, variable->second, beginnings)) continue;
    findings.push_back(found(Status::fail, plain(fmt::format("{}={}", name, variable->second)),
                             tell(Text::variable_wanted), tell(Text::variable_advice, name)));
  }
  if (findings.empty()) findings.push_back(well(tell(Text::environment_well), tell(Text::variable_wanted)));
  return findings;
}

}  // namespace troika::doctor
