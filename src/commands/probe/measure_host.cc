#include "commands/probe/measure_host.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/text.h"
#include "commands/probe/fit.h"
#include "commands/probe/host_facts.h"
#include "commands/probe/inside_link.h"
#include "commands/probe/team.h"
#include "host/cores.h"
#include "host/memory.h"
#include "tensor/device.h"

namespace troika::commands {
namespace {

// What each core computes with, at once; and one process with all of them.
std::vector<Membership> one_per_core() {
  const std::vector<int> cores = host::allowed_cores();
  std::vector<Membership> members(static_cast<std::size_t>(host::usable_cores()));
  for (std::size_t i = 0; i < members.size(); ++i) members[i] = {1, i < cores.size() ? cores[i] : -1};
  return members;
}

// The best of several rounds: other programs make a kernel slower and never faster. Both teams in turn, so that a slow minute of
// the machine is one for both.
void time_all(std::vector<Team*> teams, double seconds, std::vector<std::vector<double>>* best) {
  constexpr double usual_rounds = 3, slot_share = 0.5;  // the rest goes to making operands
  const std::size_t kernels = best->front().size();
  const double slot = slot_share * seconds / (usual_rounds * static_cast<double>(kernels * teams.size()));
  const double until = base::monotonic_seconds() + seconds;
  for (int round = 0; round == 0 || base::monotonic_seconds() < until; ++round) {
    for (std::size_t k = 0; k < kernels; ++k) {
      for (std::size_t team = 0; team < teams.size(); ++team) {
        double& least = (*best)[team][k];
        const double now = teams[team]->time(k, slot);
        least = round == 0 ? now : std::min(least, now);
      }
      if (round > 0 && base::monotonic_seconds() > until) return;
    }
  }
}

// All of it where the system does not tell how much is free.
std::int64_t free_memory() {
  const std::int64_t free = host::available_bytes();
  return free > 0 ? free : std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

// 0 where nothing can be written: not known.
double disk_rate_or_none(const std::string& folder) {
  try {
    return disk_bytes_per_second(folder);
  } catch (const base::DataError&) {
    return 0;
  }
}

}  // namespace

MeasuredHost measure_host(double seconds, const std::string& folder,
                          const std::map<std::string, std::string>& environment) {
  MeasuredHost measured;
  machine::Host& host = measured.host;
  const c10::Device device = tensor::pick_device("auto", 0);
  host.name = base::host_name();
  host.source = "measured by troika probe";
  host.cores = host::usable_cores();
  host.devices = device.is_cpu() ? 0 : tensor::cuda_devices();
  host.device = device.is_cpu() ? processor_name() : "GPU";
  host.memory_bytes = free_memory();
  host.disk_bytes_per_second = disk_rate_or_none(folder);
  measured.kernels = kernels_of(device);
  const bool once = host.cores == 1 || !device.is_cpu();
  Team each(device.is_cpu() ? one_per_core() : std::vector<Membership>{{host.cores, -1}}, environment);
  Team all(once ? std::vector<Membership>{} : std::vector<Membership>{{host.cores, -1}}, environment);
  host.program_bytes = each.resident_bytes();
  std::vector<std::vector<double>> best(once ? 1 : 2, std::vector<double>(measured.kernels.size()));
  time_all(once ? std::vector<Team*>{&each} : std::vector<Team*>{&each, &all}, seconds, &best);
  measured.seconds = best.front();
  measured.alone_seconds = best.back();
  host.rates = fit_rates(measured.kernels, measured.seconds);
  host.alone = fit_rates(measured.kernels, measured.alone_seconds);
  return measured;
}

machine::Link measure_inside(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> words{program_beside("troika"), "launch", "--nproc-per-node", "2", "--", "probe"};
  words.push_back(inside_link_word);
  Child launcher(words, environment_of_nobody(environment));
  const std::string said = launcher.hear_all();
  const int code = launcher.wait();
  machine::Link link;
  if (code != 0 || !read_inside_link(said, &link))
    throw base::PeerError(
        fmt::format("two ranks that were started to measure the link between processes of {} ended with exit code {}",
                    base::host_name(), code));
  return link;
}

}  // namespace troika::commands
