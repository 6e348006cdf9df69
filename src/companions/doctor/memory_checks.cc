#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "doctor/check.h"
#include "doctor/tree.h"
#include "host/memory.h"
#include "records/health.h"

namespace troika::doctor {
namespace {

constexpr std::int64_t little_memory = std::int64_t{512} << 20;
constexpr double much_reserved = 0.1;  // of the memory in huge pages

double gained(double before, double after) { return before < 0 || after < 0 ? 0 : after - before; }

}  // namespace

std::vector<Finding> check_free_memory(const HostView& view) {
  const std::int64_t available = host::available_bytes(view.proc, view.sys + "/fs/cgroup");
  if (available < 0) return {unchecked(base::say("{} is not there or not readable", "/proc/meminfo"))};
  const std::int64_t needed = view.want.memory_bytes;
  const base::Text measured = base::say("{} available", base::format_bytes(available));
  const base::Text wanted = needed > 0 ? base::say("{} for this run", base::format_bytes(needed))
                                 : base::say("at least {}", base::format_bytes(little_memory));
  if (available >= std::max(needed, little_memory)) return {well(measured, wanted)};
  return {found(available < needed ? Status::fail : Status::warn, measured, wanted, base::say("End other programs on this host, or lower batch.micro_batch_size."))};
}

std::vector<Finding> check_swap(const HostView& view) {
  const std::string meminfo = host::content_or_empty(view.proc + "/meminfo");
  const auto all = number_behind(meminfo, "SwapTotal"), left = number_behind(meminfo, "SwapFree");
  if (!all || !left) return {unchecked(base::say("{} is not there or not readable", "/proc/meminfo"))};
  const base::Text used = base::say("{} of {} swap used, none read back", base::format_bytes(1024 * (*all - *left)), base::format_bytes(1024 * *all));
  const base::Text wanted = base::say("nothing swapped in meanwhile");
  if (!view.measured) return {well(used, wanted)};
  const host::Vitals& before = view.measured->before;
  const host::Vitals& after = view.measured->after;
  const double in = gained(before.swap_in_pages, after.swap_in_pages);
  const base::Text measured = base::say("{} pages swapped in and {} out within seconds", fmt::format("{:.0f}", in),
                             fmt::format("{:.0f}", gained(before.swap_out_pages, after.swap_out_pages)));
  if (records::is_swapping(in)) return {found(Status::warn, measured, wanted, base::say("The host swaps, and a step will be 10 to 100 times slower: end other programs, lower the run's memory, or turn swap off."))};
  if (after.pressure_memory > records::much_memory_pressure)
    return {found(Status::warn, base::say("programs stood {} % of the last 10 s for memory", fmt::format("{:.0f}", after.pressure_memory)), wanted,
                  base::say("The host swaps, and a step will be 10 to 100 times slower: end other programs, lower the run's memory, or turn swap off."))};
  if (in > 0) return {found(Status::note, measured, wanted, base::say("A few pages came back from swap; more of it would slow training."))};
  return {well(used, wanted)};
}

std::vector<Finding> check_memory_policy(const HostView& view) {
  const std::string meminfo = host::content_or_empty(view.proc + "/meminfo");
  const std::int64_t all = 1024 * number_behind(meminfo, "MemTotal").value_or(0);
  const std::int64_t huge =
      1024 * number_behind(meminfo, "Hugepagesize").value_or(0) * number_behind(meminfo, "HugePages_Total").value_or(0);
  const auto policy = number_in(view.proc + "/sys/vm/overcommit_memory");
  std::vector<Finding> findings;
  if (all > 0 && static_cast<double>(huge) > much_reserved * static_cast<double>(all))
    findings.push_back(found(Status::warn, base::say("{} lie in huge pages", base::format_bytes(huge)),
                             base::say("at most a tenth of the memory"), base::say("{} are kept for huge pages, which training cannot use: lower vm.nr_hugepages.", base::format_bytes(huge))));
  if (policy == 2)
    findings.push_back(found(Status::warn, base::verbatim(fmt::format("vm.overcommit_memory={}", *policy)),
                             base::say("vm.overcommit_memory 0 or 1"), base::say("Large mappings may fail though memory is free: set vm.overcommit_memory to 0.")));
  if (!findings.empty()) return findings;
  if (all == 0 && !policy) return {unchecked(base::say("{} is not there or not readable", "/proc/meminfo"))};
  return {well(base::verbatim(fmt::format("vm.overcommit_memory={}", policy.value_or(0))), base::say("vm.overcommit_memory 0 or 1"))};
}

// Whether it is little shows beside other hosts: judge_hosts.h.
std::vector<Finding> check_memory_bandwidth(const HostView& view) {
  if (!view.measured || view.measured->memory_bytes_per_second <= 0) return {unchecked(base::say("not measured"))};
  return {well(base::verbatim(fmt::format("{:.1f} GB/s", view.measured->memory_bytes_per_second / 1e9)),
               base::say("as on the other hosts"))};
}

}  // namespace troika::doctor
