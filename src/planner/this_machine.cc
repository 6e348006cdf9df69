#include "planner/this_machine.h"

#include "base/file.h"
#include "base/host_name.h"
#include "host/cores.h"
#include "host/memory.h"
#include "machine/cluster_file.h"
#include "machine/profiles.h"

namespace troika::planner {

std::string machine_file(const std::map<std::string, std::string>& environment) {
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  const std::string config = value("XDG_CONFIG_HOME"), home = value("HOME");
  if (!config.empty()) return config + "/troika/machine.yaml";
  return home.empty() ? "" : home + "/.config/troika/machine.yaml";
}

machine::Cluster this_machine(const std::map<std::string, std::string>& environment) {
  const std::string path = machine_file(environment);
  machine::Cluster cluster;
  if (!path.empty() && base::file_exists(path)) {
    cluster = machine::read_cluster(path);
  } else {
    machine::Host host = machine::find_profile("cloud-2-cores").host;
    host.source = "rates of the profile " + host.name + ", for each core; `troika probe` measures this host's";
    const int cores = host::usable_cores();
    host.alone = host.alone.times(static_cast<double>(cores) / host.cores);
    host.cores = cores;
    host.name = base::host_name();
    cluster.hosts.push_back(host);
  }
  const std::int64_t free = host::available_bytes();
  for (machine::Host& host : cluster.hosts) {
    if (free > 0 && host.computes_on_cores()) host.memory_bytes = free;
  }
  return cluster;
}

}  // namespace troika::planner
