// Hosts that slow their ranks down: swapping, heat, threads that get in each other's way.
#include <algorithm>
#include <map>
#include <set>

#include "base/say.h"
#include "diagnosis/rules.h"
#include "diagnosis/facts.h"
#include "records/health.h"

namespace troika::diagnosis {
namespace {

std::optional<Finding> host_swapping(const Facts& f) {
  for (const auto& [name, host] : f.hosts) {
    if (!records::is_swapping(host.swap_in_pages)) continue;
    const double slower = slowdown(f, 8);
    if (slower < 2 && host.memory_pressure < records::much_memory_pressure) continue;
    Finding found{"host_swapping", {say("{} swapped in {:.0f} pages since the attempt began", name, host.swap_in_pages)}, less_memory(f)};
    if (slower >= 2) found.evidence.push_back(say("steps take {:.1f} times as long as at the beginning", slower));
    if (host.memory_pressure >= 0) found.evidence.push_back(say("threads on {} were stalled on memory for {:.0f} % of the last seconds", name, host.memory_pressure));
    return found;
  }
  return std::nullopt;
}

std::optional<Finding> throttled(const Facts& f) {
  const double slower = slowdown(f, 40);
  if (!is_long_enough(f) || slower < 1.2) return std::nullopt;
  for (const auto& [name, host] : f.hosts) {
    const bool clock_fell = host.clock_before > 0 && host.clock_after > 0 && host.clock_after < records::least_clock_share * host.clock_before;
    if (!clock_fell && host.throttles <= 0 && !host.under_voltage) continue;
    Finding found{"processor_throttled", {say("steps take {:.1f} times as long as at the beginning", slower)}, {}};
    if (clock_fell)
      found.evidence.push_back(say("the clock of {} fell from {:.2f} to {:.2f} GHz", name, host.clock_before / 1e9, host.clock_after / 1e9));
    if (host.throttles > 0)
      found.evidence.push_back(
          say("{} was throttled due to heat {}", name, base::counted_text(static_cast<std::int64_t>(host.throttles), "time")));
    if (host.temperature_celsius > 0) found.evidence.push_back(say("the highest temperature of {} was {:.0f} degrees Celsius", name, host.temperature_celsius));
    if (host.under_voltage) {
      found.evidence.push_back(say("{} reports under-voltage", name));
      found.advice.push_back({say("use the official power supply"), say("below 4.63 V the processor is slowed down")});
    }
    found.advice.push_back({say("cool the host: fan, heat sink, free air"), say("the processor lowers its clock to stay below its limit")});
    found.advice.push_back(
        set("train.threads", std::to_string(std::max(1, static_cast<int>(host.cores) / 2)), say("fewer threads make less heat, so the clock holds")));
    return found;
  }
  return std::nullopt;
}

// Threads of all ranks of a host that may run on the same cores.
struct ThreadsOfHost {
  int threads = 0, ranks = 0, usable = 0, online = 0, most_of_rank = 0;
  std::set<int> bound_to;  // of all ranks together
};

std::string host_of(const Facts& f, int rank) {
  const auto sampled = f.of_ranks.find(rank);
  if (sampled != f.of_ranks.end()) return sampled->second.host;
  if (f.state)
    for (const records::RankPlace& place : f.state->ranks)
      if (place.rank == rank) return place.host;
  return "";
}

std::map<std::string, ThreadsOfHost> threads_of_hosts(const Facts& f) {
  std::map<std::string, ThreadsOfHost> hosts;
  for (const auto& [rank, threads] : f.threads) {
    ThreadsOfHost& host = hosts[host_of(f, rank)];
    host.online = threads.online;
    host.most_of_rank = std::max(host.most_of_rank, threads.threads);
    host.threads += threads.threads;
    const bool bound = !threads.bound_to.empty();
    host.usable = bound ? host.usable + threads.usable : threads.usable;
    host.bound_to.insert(threads.bound_to.begin(), threads.bound_to.end());
    if (bound) host.usable = std::min(host.usable, static_cast<int>(host.bound_to.size()));
    ++host.ranks;
  }
  return hosts;
}

Advice threads_that_fit(const ThreadsOfHost& host) {
  const int fitting = std::max(1, host.usable / std::max(host.ranks, 1));
  return set(
      "train.threads", std::to_string(fitting),
      say("{} serve {}", base::counted_text(host.usable, "core"), base::counted_text(host.ranks, "rank")));
}

// Advice for threads that get in each other's way: the best use of the cores at hand, then how to get more.
AdviceList fewer_threads(const ThreadsOfHost& host) {
  AdviceList advice;
  if (host.ranks > host.usable && host.usable > 0) {
    advice = {ranks_of_one_thread(host.usable, say("{0} cores run {0} ranks of one thread faster than {1} ranks that take turns", host.usable, host.ranks)),
              set("train.threads", "1",
                  say("{} serve {}", base::counted_text(host.usable, "core"),
                      base::counted_text(host.ranks, "rank")))};
  } else {
    advice = {threads_that_fit(host), launch(LaunchFlag::bind, "auto", say("each rank gets its own neighboring cores"))};
  }
  if (host.usable < host.online)
    advice.push_back(command("export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK", say("srun of SLURM 22.05 does not inherit --cpus-per-task from sbatch")));
  return advice;
}

// The same where a quota stops all of them at once.
AdviceList within_quota(const ThreadsOfHost& host, int cores) {
  const int ranks = std::max(host.ranks, 1), now = host.most_of_rank;
  const int fitting = std::max(1, now > 0 ? std::min(cores / ranks, now - 1) : cores / ranks);
  AdviceList advice;
  if (now != 1)
    advice.push_back(
        set("train.threads", std::to_string(fitting), say("threads within the quota of {} are not throttled together", base::counted_text(cores, "core"))));
  if (ranks > cores) advice.push_back(ranks_of_one_thread(cores, say("{0} cores run {0} ranks of one thread faster than {1} ranks that take turns", cores, ranks)));
  advice.push_back(command("docker run --cpus N", say("for the container: as many as ranks x threads")));
  return advice;
}

// The logs tell about threads from the first step on.
std::optional<Finding> thread_count(const Facts& f) {
  if (f.rows.size() < 20) return std::nullopt;
  for (const auto& [name, host] : threads_of_hosts(f)) {
    const bool too_many = host.most_of_rank > 1 && 2 * host.threads >= 3 * host.usable;
    const bool too_few = !host.bound_to.empty() && host.usable <= host.ranks && host.threads == host.ranks &&
                         host.online >= 4 * host.usable;
    if (!too_many && !too_few) continue;
    Finding found{"wrong_thread_count",
                  {say("on {0}, {1} threads of {2} ranks run on {3} of {4} cores", name, host.threads, host.ranks, host.usable, host.online)},
                  {}};
    const auto facts = f.hosts.find(name);
    if (too_many && facts != f.hosts.end() && facts->second.runnable >= 0)
      found.evidence.push_back(say("{} has {:.0f} runnable threads at a time", name, facts->second.runnable));
    if (too_many)
      found.advice = fewer_threads(host);
    else
      found.advice = {command("export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK", say("srun of SLURM 22.05 does not inherit --cpus-per-task from sbatch")),
                      launch(LaunchFlag::bind, "none", say("ranks may use all cores of the host"))};
    return found;
  }
  for (const auto& [name, host] : f.hosts) {
    if (!is_long_enough(f) || host.seconds <= 0 || host.quota_throttled_seconds < 0.3 * host.seconds) continue;
    const int cores = std::max(1, static_cast<int>(host.cores));
    return Finding{"wrong_thread_count",
                   {say("the CPU quota of {0} was exhausted for {1:.0f} thread seconds in {2:.0f} s; it is {3} cores", name, host.quota_throttled_seconds, host.seconds, cores)},
                   within_quota(threads_of_hosts(f)[name], cores)};
  }
  return std::nullopt;
}

}  // namespace

Rules rules_of_hosts() { return {host_swapping, throttled}; }
Rules rules_of_threads() { return {thread_count}; }

}  // namespace troika::diagnosis
