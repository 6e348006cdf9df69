#include "planner/machines.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/say.h"
#include "host/cores.h"
#include "host/memory.h"
#include "machine/calibration.h"
#include "machine/profiles.h"

namespace troika::planner {
namespace {

machine::Host of_a_profile() {
  machine::Host host = machine::find_profile("cloud-2-cores").host;
  host.source.kind = machine::Source::Kind::profile;
  const int cores = host::usable_cores();
  host.alone = host.alone.times(static_cast<double>(cores) / host.cores);
  host.cores = cores;
  host.name = base::host_name();
  return host;
}

}  // namespace

std::string machine_file(const std::map<std::string, std::string>& environment) {
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  const std::string config = value("XDG_CONFIG_HOME"), home = value("HOME");
  if (!config.empty()) return config + "/troika/machine.yaml";
  return home.empty() ? "" : home + "/.config/troika/machine.yaml";
}

ThisMachine this_machine(const std::string& machine_file) {
  ThisMachine here;
  if (!machine_file.empty() && base::file_exists(machine_file)) {
    here.rates = ThisMachine::Rates::probed;
    here.cluster = machine::read_cluster(machine_file);
    const machine::Calibration calibration = machine::read_calibration(machine_file);
    for (machine::Host& host : here.cluster.hosts) host = calibrated(host, calibration);
  } else {
    here.cluster.hosts.push_back(of_a_profile());
  }
  const std::int64_t free = host::available_bytes();
  for (machine::Host& host : here.cluster.hosts) {
    if (free > 0 && host.computes_on_cores()) host.memory_bytes = free;
  }
  return here;
}

ThisMachine accelerators_of_this_machine(const std::string& model, int devices) {
  const machine::Accelerator& kind = machine::find_accelerator(model, base::say("device"));
  ThisMachine here;
  here.cluster.hosts.push_back(host_of(kind, devices, machine::fitted_reach()));
  here.cluster.hosts.front().name = base::host_name();
  here.cluster.network = network_of(kind, machine::fitted_reach());
  return here;
}

namespace {

constexpr std::string_view no_machine = "none: ";
constexpr char between_languages = '\x1f';

// Whether a rank computes on one as on the other.
bool alike(machine::Host a, machine::Host b) {
  for (machine::Host* host : {&a, &b}) {
    host->name.clear();
    host->count = 1;
    host->memory_bytes = host->disk_bytes_per_second = 0;
  }
  return machine::to_yaml({"", {a}, {}, {}}) == machine::to_yaml({"", {b}, {}, {}});
}

}  // namespace

std::string tell_machine(const ThisMachine& here, int ranks, const TimedProduct& product) {
  if (here.cluster.host_count() != 1)
    return tell_no_machine(base::say("the machine file of a host has {} hosts", here.cluster.host_count()));
  machine::Cluster cluster = here.cluster;
  machine::Host& host = cluster.hosts.front();
  const bool probed = here.rates == ThisMachine::Rates::probed;
  if (!probed && product.seconds > 0) {
    const machine::Placement placement(cluster, ranks, ranks);
    const double factor =
        placement.rates_of(0).product_seconds(config::Precision::fp32, product.flops, product.bytes) / product.seconds;
    host.rates = host.rates.times(factor);
    host.alone = host.alone.times(factor);
    host.source.kind = machine::Source::Kind::scaled_profile;
  }
  return (probed ? "# probed\n" : "# of a profile\n") + machine::to_yaml(cluster);
}

std::string tell_no_machine(const base::Text& why) { return std::string(no_machine) + why.english + between_languages + why.chinese; }

RunMachines machines_of_run(const std::vector<std::string>& told, const schedule::Link& link) {
  RunMachines run;
  bool probed = false;     // the first host
  std::vector<int> ranks;  // of each host
  for (const std::string& text : told) {
    if (text.rfind(no_machine, 0) == 0) {
      const std::size_t end = text.find(between_languages);
      return {{}, 0, {text.substr(no_machine.size(), end - no_machine.size()), text.substr(end + 1)}};
    }
    if (!text.empty()) {
      const machine::Host host = machine::parse_cluster(text, "a host").hosts.front();
      if (ranks.empty()) probed = text.rfind("# probed", 0) == 0;
      ranks.push_back(0);
      const bool again = !run.cluster.hosts.empty() && alike(run.cluster.hosts.back(), host);
      if (!again) run.cluster.hosts.push_back(host);
      machine::Host& entry = run.cluster.hosts.back();
      if (again) ++entry.count;
      entry.memory_bytes = std::min(entry.memory_bytes, host.memory_bytes);
    }
    if (ranks.empty()) return {{}, 0, base::say("the first rank is not the first of its host")};
    ++ranks.back();
  }
  run.ranks_per_host = ranks.front();
  if (std::any_of(ranks.begin(), ranks.end(), [&](int count) { return count != run.ranks_per_host; }))
    return {{}, 0, base::say("the hosts do not have equal numbers of consecutive ranks")};
  // The run knows the way between its ranks better than a file or a profile, but for what a probe measured inside a host.
  const bool several = run.cluster.host_count() > 1;
  if (several || (!probed && run.cluster.hosts.front().computes_on_cores()))
    (several ? run.cluster.network : run.cluster.hosts.front().inside) = {link.latency_seconds, link.bytes_per_second};
  return run;
}

}  // namespace troika::planner
