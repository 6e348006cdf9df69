#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "doctor/check.h"
#include "doctor/tree.h"
#include "host/memory.h"

namespace troika::doctor {
namespace {

constexpr std::int64_t enough_files = 4096, hardly_any_files = 256;
constexpr std::int64_t threads_beside = 16;   // of a rank, beside those that compute
constexpr std::int64_t some_processes = 512;  // for everything else of this user

base::Text count_or_unlimited(std::int64_t count) {
  return count < 0 ? base::say("unlimited") : base::verbatim(std::to_string(count));
}

// The least number in a file of that name in any group that holds this process; "max" and absent files are no limit.
std::optional<std::int64_t> least_in_groups(const HostView& view, const std::string& controller,
                                            const std::vector<std::string>& names) {
  std::optional<std::int64_t> least;
  for (const std::string& folder : host::cgroup_folders(view.proc, view.sys + "/fs/cgroup", controller))
    for (const std::string& name : names)
      if (const auto limit = number_in(folder + "/" + name); limit && *limit >= 0 && (!least || *limit < *least))
        least = limit;
  return least;
}

std::int64_t memory_of_host(const HostView& view) {
  return 1024 * number_behind(host::content_or_empty(view.proc + "/meminfo"), "MemTotal").value_or(0);
}

void add_file_limit(const HostView& view, std::vector<Finding>& findings) {
  const Limits& limits = view.limits;
  const base::Text measured = base::say("{} open files (up to {})", count_or_unlimited(limits.files_soft), count_or_unlimited(limits.files_hard));
  const base::Text wanted = base::say("at least {}", enough_files), advice = base::say("Run `ulimit -n 65536` before the start; in a systemd unit, set LimitNOFILE=65536, in limits.conf nofile.");
  if (limits.files_hard >= 0 && limits.files_hard < enough_files)
    findings.push_back(
        found(limits.files_hard < hardly_any_files ? Status::fail : Status::warn, measured, wanted, advice));
  else if (limits.files_soft >= 0 && limits.files_soft < enough_files)
    findings.push_back(found(Status::note, measured, wanted, base::say("Troika raises it if it needs more; for other programs, run `ulimit -n 65536`.")));
  else
    findings.push_back(well(measured, wanted));
}

void add_process_limit(const HostView& view, std::vector<Finding>& findings) {
  const std::int64_t ranks = view.want.ranks;
  const std::int64_t threads =
      view.want.threads > 0 ? view.want.threads : std::max<std::int64_t>(1, view.cores / ranks);
  const std::int64_t needed = ranks * (threads + threads_beside);
  std::optional<std::int64_t> most = least_in_groups(view, "pids", {"pids.max"});
  if (view.limits.processes >= 0 && (!most || view.limits.processes < *most)) most = view.limits.processes;
  if (!most || *most >= needed + some_processes) return;
  findings.push_back(found(*most < needed ? Status::fail : Status::warn, base::say("{} processes and threads", *most),
                           base::say("at least {}", needed + some_processes), base::say("Raise `ulimit -u`, or pids.max (TasksMax, --pids-limit) of the container.")));
}

void add_locked_limit(const HostView& view, std::vector<Finding>& findings) {
  const bool rdma = !entries_named(view.sys + "/class/infiniband", "").empty();
  if (!rdma || view.limits.locked_bytes < 0) return;
  findings.push_back(found(Status::warn, base::say("{} of locked memory", base::format_bytes(view.limits.locked_bytes)),
                           base::say("no limit with InfiniBand"), base::say("Run `ulimit -l unlimited` before the start; in a systemd unit, set LimitMEMLOCK=infinity.")));
}

}  // namespace

std::optional<double> quota_cores(const HostView& view) {
  std::optional<double> least;
  const auto take = [&](double quota, double period) {
    if (quota > 0 && period > 0 && (!least || quota / period < *least)) least = quota / period;
  };
  for (const std::string& folder : host::cgroup_folders(view.proc, view.sys + "/fs/cgroup", "cpu")) {
    std::istringstream words(word_in(folder + "/cpu.max"));
    std::string quota;
    double number = 0, period = 0;
    if (words >> quota >> period && base::parse_double(quota, &number)) take(number, period);
    take(static_cast<double>(number_in(folder + "/cpu.cfs_quota_us").value_or(-1)),
         static_cast<double>(number_in(folder + "/cpu.cfs_period_us").value_or(0)));
  }
  return least;
}

std::vector<Finding> check_limits(const HostView& view) {
  std::vector<Finding> findings;
  add_file_limit(view, findings);
  add_process_limit(view, findings);
  add_locked_limit(view, findings);
  return findings;
}

std::vector<Finding> check_cgroup_memory(const HostView& view) {
  const auto limit = least_in_groups(view, "memory", {"memory.max", "memory.high", "memory.limit_in_bytes"});
  const std::int64_t all = memory_of_host(view), needed = view.want.memory_bytes;
  if (!limit || (all > 0 && *limit >= all)) return {well(base::say("no limit below the host's memory"), base::say("room for the plan of every rank"))};
  const base::Text measured = base::say("the control group allows {}", base::format_bytes(*limit));
  if (needed <= 0) {
    if (*limit >= std::int64_t{512} << 20) return {well(measured, base::say("room for the plan of every rank"))};
    return {found(Status::warn, measured, base::say("room for the plan of every rank"), base::say("Raise the container's memory: hardly any model fits into so little."))};
  }
  const base::Text wanted = base::say("{} for this run", base::format_bytes(needed));
  if (static_cast<double>(needed) <= 0.9 * static_cast<double>(*limit)) return {well(measured, wanted)};
  return {found(needed > *limit ? Status::fail : Status::warn, measured, wanted,
                base::say("The container allows {}, but the plan needs {}: raise its memory (--memory) or lower batch.micro_batch_size.", base::format_bytes(*limit), base::format_bytes(needed)))};
}

std::vector<Finding> check_cgroup_cpu(const HostView& view) {
  const auto quota = quota_cores(view);
  if (!quota || *quota >= view.cores)
    return {well(base::say(base::Phrase("{}", "cores"), base::counted_text(view.cores, "core")), base::say("no quota below that"))};
  const int asked = view.want.threads * view.want.ranks;
  const base::Text cores = base::Text{base::format_digits(*quota, 3) + (*quota == 1 ? " core" : " cores"), base::format_digits(*quota, 3)}, ranks = base::counted_text(view.want.ranks, "rank");
  const base::Text measured = base::say("a quota of {}, {} visible", cores, base::counted_text(view.cores, "core"));
  if (asked > 0) {
    const base::Text wanted = base::say("{} x {}", base::counted_text(view.want.threads, "thread"), ranks);
    if (asked <= *quota) return {well(measured, wanted)};
    return {found(Status::warn, measured, wanted, base::say("The quota is {}: set train.threads so that ranks x threads stay within it, or raise it.", cores))};
  }
  const bool little = *quota < view.want.ranks;
  return {found(little ? Status::warn : Status::note, measured, base::say("a core for each of {}", ranks),
                little ? base::say("The quota is {}: set train.threads so that ranks x threads stay within it, or raise it.", cores) : base::say("The quota sets the number of threads unless train.threads does."))};
}

std::vector<Finding> check_threads(const HostView& view) {
  const int ranks = view.want.ranks, cores = view.cores;
  const auto variable = [&](const char* name) {
    const auto entry = view.environment.find(name);
    return entry == view.environment.end() ? std::string() : entry->second;
  };
  std::int64_t online = 0;
  for (const std::string& cpu : entries_named(view.sys + "/devices/system/cpu", "cpu"))
    if (cpu.find_last_not_of("0123456789") == cpu.rfind("cpu") + 2 && cpu.back() != 'u') ++online;
  const base::Text measured = base::say(base::Phrase("{}", "cores"), base::counted_text(cores, "core"));
  if (!variable("SLURM_STEP_ID").empty() && cores == 1 && online > 1)
    return {found(Status::warn, measured, base::say("more of the host's {} cores", online), base::say("srun gives one core by default: use `srun -c N`, or export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK."))};
  if (view.want.threads > 0 && view.want.threads * ranks > cores)
    return {found(Status::warn, measured,
                  base::say("{} x {}", base::counted_text(view.want.threads, "thread"), base::counted_text(ranks, "rank")),
                  base::say("More threads than cores slow each other down: set train.threads to {}.", std::max(1, cores / ranks)))};
  if (ranks > cores)
    return {found(Status::warn, measured, base::say(base::Phrase("{}", "ranks"), base::counted_text(ranks, "rank")),
                  base::say("Start at most {} on this host: they share its cores.", base::counted_text(cores, "rank")))};
  if (std::int64_t threads = 0; base::parse_int(variable("OMP_NUM_THREADS"), &threads) && view.want.threads == 0 &&
                                variable("TROIKA_STORE").empty() && threads * ranks > cores)
    return {found(Status::warn, measured, base::verbatim(fmt::format("OMP_NUM_THREADS={} x {}", threads, ranks)),
                  base::say("Unset OMP_NUM_THREADS: then every rank takes its share of the cores."))};
  double load = 0;
  std::istringstream(host::content_or_empty(view.proc + "/loadavg")) >> load;
  if (load > 0.5 * cores)
    return {found(Status::note, base::say("a load of {} on {}", fmt::format("{:.1f}", load), base::counted_text(cores, "core")),
                  base::say("no other work"), base::say("Other programs are running on this host: training waits for cores, and rates measured here are too low."))};
  return {well(measured, base::say(base::Phrase("{}", "ranks"), base::counted_text(ranks, "rank")))};
}

}  // namespace troika::doctor
