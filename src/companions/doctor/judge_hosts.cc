#include "doctor/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/units.h"

namespace troika::doctor {
namespace {

constexpr double enough_of_median = 0.7;  // of memory bandwidth
constexpr double seen_late_seconds = 1;

std::string name_list(const std::vector<HostReport>& reports) {
  std::vector<std::string> names;
  for (const HostReport& report : reports) names.push_back(report.host);
  return base::join(names, ", ");
}

Finding of_all(const std::vector<HostReport>& reports, const char* check, Status status, base::Text measured, base::Text wanted,
               base::Text advice = {}) {
  return {name_list(reports), check, status, std::move(measured), std::move(wanted), std::move(advice)};
}

using Values = std::map<std::string, std::string> HostFacts::*;

std::string value_on(const HostReport& report, Values values, const std::string& name) {
  const auto& all = report.facts.*values;
  const auto found = all.find(name);
  return found == all.end() ? "" : found->second;
}

// The value that most have; of equal numbers the one of the first host that has one of these.
std::string of_majority(const std::vector<HostReport>& reports, Values values, const std::string& name) {
  std::map<std::string, int> votes;
  int most = 0;
  for (const HostReport& report : reports) most = std::max(most, ++votes[value_on(report, values, name)]);
  for (const HostReport& report : reports)
    if (const std::string value = value_on(report, values, name); votes[value] == most) return value;
  return "";
}

std::set<std::string> names_in(const std::vector<HostReport>& reports, Values values) {
  std::set<std::string> names;
  for (const HostReport& report : reports)
    for (const auto& [name, value] : report.facts.*values) names.insert(name);
  return names;
}

// Another name of the other hosts' interface is no fault.
bool names_interface(const std::string& variable) {
  return variable.size() > 7 && variable.compare(variable.size() - 7, 7, "_IFNAME") == 0;
}

std::string first_with(const std::vector<HostReport>& reports, Values values, const std::string& name,
                       const std::string& value) {
  for (const HostReport& report : reports)
    if (value_on(report, values, name) == value) return report.host;
  return "";
}

void judge_environment(const std::vector<HostReport>& reports, std::vector<Finding>& findings) {
  const std::size_t before = findings.size();
  for (const std::string& name : names_in(reports, &HostFacts::environment)) {
    const std::string majority = of_majority(reports, &HostFacts::environment, name);
    const auto told = [&](const std::string& value) {
      return value.empty() ? base::say("{} is not set", name) : base::verbatim(fmt::format("{}={}", name, value));
    };
    for (const HostReport& report : reports) {
      const std::string value = value_on(report, &HostFacts::environment, name);
      if (value == majority) continue;
      const bool other_name = names_interface(name) && !value.empty() && !majority.empty();
      const base::Text most = told(majority);
      const std::string like = first_with(reports, &HostFacts::environment, name, majority);
      findings.push_back({report.host,
                          "environment",
                          other_name ? Status::note : Status::warn,
                          told(value),
                          base::say("{0}, as on {1}", most, like),
                          base::say("Set {} to the same value on every host, or on none.", name)});
    }
  }
  if (findings.size() == before)
    findings.push_back(of_all(reports, "environment", Status::ok, base::say("equal"),
                              base::say("the same variables on all hosts")));
}

void judge_versions(const std::vector<HostReport>& reports, std::vector<Finding>& findings) {
  const std::size_t before = findings.size();
  for (const std::string& name : names_in(reports, &HostFacts::versions)) {
    const std::string majority = of_majority(reports, &HostFacts::versions, name);
    for (const HostReport& report : reports) {
      const std::string value = value_on(report, &HostFacts::versions, name);
      if (value == majority || value.empty() || majority.empty()) continue;
      const bool refused = name == "build";
      findings.push_back({report.host, "versions", refused ? Status::fail : Status::note,
                          base::verbatim(fmt::format("{} {}", name, value)),
                          base::say("{0}, as on {1}", majority, first_with(reports, &HostFacts::versions, name, majority)),
                          refused ? base::say("Install the same Troika on every host: a run refuses builds that differ.") : base::say("Hosts may differ in this; it matters only if results or speed differ too.")});
    }
  }
  if (findings.size() == before)
    findings.push_back(
        of_all(reports, "versions", Status::ok, base::say("equal"), base::say("the same versions on all hosts")));
}

void judge_memory_bandwidth(const std::vector<HostReport>& reports, std::vector<Finding>& findings) {
  std::vector<double> rates;
  for (const HostReport& report : reports)
    if (report.facts.memory_bytes_per_second > 0) rates.push_back(report.facts.memory_bytes_per_second);
  const double middle = base::median_or(rates, 0);
  for (const HostReport& report : reports) {
    const double rate = report.facts.memory_bytes_per_second;
    if (rate <= 0 || rates.size() < 2 || rate >= enough_of_median * middle) continue;
    findings.push_back({report.host, "memory_bandwidth", Status::warn, base::verbatim(fmt::format("{:.1f} GB/s", rate / 1e9)),
                        base::say("at least 70 % of the median, {} GB/s", fmt::format("{:.1f}", middle / 1e9)),
                        base::say("This host's memory is slow: a module may be missing, other work may be running, or threads are on the wrong NUMA node.")});
  }
}

// The fastest link of a host, in Mbit/s; -1: none is known.
std::int64_t megabits_of(const HostReport& report, std::string* name) {
  std::int64_t best = -1;
  for (const Interface& one : report.facts.interfaces)
    if (!one.wireless && one.megabits > best) {
      best = one.megabits;
      *name = one.name;
    }
  return best;
}

void judge_speed(const std::vector<HostReport>& reports, std::vector<Finding>& findings) {
  std::vector<double> speeds;
  std::string name;
  for (const HostReport& report : reports)
    if (const std::int64_t speed = megabits_of(report, &name); speed > 0) speeds.push_back(static_cast<double>(speed));
  const double middle = base::median_or(speeds, 0);
  for (const HostReport& report : reports) {
    const std::int64_t speed = megabits_of(report, &name);
    if (speed <= 0 || static_cast<double>(speed) >= middle) continue;
    findings.push_back({report.host, "speed", Status::warn, base::verbatim(fmt::format("{} {} Mbit/s", name, speed)),
                        base::say("{} Mbit/s, like the others", fmt::format("{:.0f}", middle)), base::say("This host's link is slower than the others': check its cable and its switch port.")});
  }
}

void judge_mtu(const std::vector<HostReport>& reports, std::vector<Finding>& findings) {
  std::map<std::string, std::map<std::string, std::int64_t>> by_subnet;  // host and MTU
  for (const HostReport& report : reports)
    for (const Interface& one : report.facts.interfaces)
      for (const Address& address : one.addresses)
        if (const std::string subnet = subnet_of(address); !subnet.empty() && one.mtu > 0)
          by_subnet[subnet][report.host] = one.mtu;
  for (const auto& [subnet, hosts] : by_subnet) {
    std::map<std::int64_t, int> votes;
    int most = 0;
    for (const auto& [host, mtu] : hosts) most = std::max(most, ++votes[mtu]);
    std::int64_t common = 0;
    for (const auto& [host, mtu] : hosts)
      if (common == 0 && votes[mtu] == most) common = mtu;
    for (const auto& [host, mtu] : hosts)
      if (mtu != common)
        findings.push_back({host, "mtu", Status::warn, base::verbatim(std::to_string(mtu)),
                            base::say("{0}, as on the other hosts in {1}", common, subnet), base::say("Give all hosts of a network the same MTU, and the switch at least that MTU.")});
  }
}

}  // namespace

base::Text list_hosts(const std::vector<std::string>& hosts, std::size_t all) {
  if (hosts.size() == all && all > 4) return base::say("all {} hosts", all);
  return base::verbatim(base::join(hosts, ", "));
}

std::vector<Finding> judge_hosts(const std::vector<HostReport>& reports) {
  std::vector<Finding> findings;
  if (reports.size() < 2) return findings;
  judge_environment(reports, findings);
  judge_versions(reports, findings);
  judge_memory_bandwidth(reports, findings);
  judge_speed(reports, findings);
  judge_mtu(reports, findings);
  return findings;
}

std::vector<Finding> judge_shared_folder(const SharedFolder& folder, const std::string& path) {
  std::vector<std::string> all{folder.writer}, see;
  double latest = 0;
  for (const SharedFolder::Reader& reader : folder.readers) {
    all.push_back(reader.host);
    if (reader.seconds >= 0) see.push_back(reader.host);
    latest = std::max(latest, reader.seconds);
  }
  const std::string host = base::join(all, ", ");
  const base::Text wanted = base::say("either is fine: every host writes its own parts");
  if (!folder.written) return {{host, "shared_folder", Status::not_checked, base::say("the first host wrote no file there"), {}, {}}};
  if (see.empty()) return {{host, "shared_folder", Status::ok, base::say("each host has its own folder"), wanted, {}}};
  if (latest > seen_late_seconds)
    return {{host, "shared_folder", Status::note, base::say("seen {} after it was written", base::format_duration(latest)), wanted,
             base::say("The network file system shows files late: mount it with noac or a shorter actimeo.")}};
  if (see.size() == folder.readers.size())
    return {{host, "shared_folder", Status::ok, base::say("all hosts share {}", path), wanted, {}}};
  return {{host, "shared_folder", Status::note, base::say("{} see what {} writes to {}, the others do not", base::join(see, ", "), folder.writer, path),
           wanted, base::say("No change needed; if no disk is shared, a second copy of checkpoints is kept.")}};
}

}  // namespace troika::doctor
