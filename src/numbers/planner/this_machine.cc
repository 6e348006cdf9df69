#include "planner/this_machine.h"

#include "base/file.h"
#include "base/host_name.h"
#include "base/say.h"
#include "host/cores.h"
#include "host/memory.h"
#include "machine/calibration.h"
#include "machine/cluster_file.h"
#include "machine/profiles.h"

namespace troika::planner {
namespace {

machine::Host of_a_profile() {
  machine::Host host = machine::find_profile("cloud-2-cores").host;
  host.source = base::say("rates of the profile {}, for each core; `troika probe` measures this host's", host.device).english;
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

}  // namespace troika::planner
