#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "doctor/check.h"
#include "doctor/tree.h"
#include "host/cgroup.h"
#include "host/memory.h"

namespace troika::doctor {
namespace {

constexpr std::int64_t little_memory = std::int64_t{512} << 20;
constexpr double few_pages = 256;      // swapped in while the doctor is there: daemons that wake
constexpr double much_pressure = 10;   // percent of the last 10 s
constexpr double much_reserved = 0.1;  // of the memory in huge pages

double gained(double before, double after) { return before < 0 || after < 0 ? 0 : after - before; }

}  // namespace

std::vector<Finding> check_free_memory(const HostView& view) {
  const std::int64_t available = host::available_bytes_in(view.proc, view.sys + "/fs/cgroup");
  if (available < 0) return {unchecked(tell(Text::no_file, "/proc/meminfo"))};
  const std::int64_t needed = view.want.memory_bytes;
  const Told measured = tell(Text::memory_free, base::format_bytes(available));
  const Told wanted = needed > 0 ? tell(Text::memory_needed, base::format_bytes(needed))
                                 : tell(Text::memory_free_wanted, base::format_bytes(little_memory));
  if (available >= std::max(needed, little_memory)) return {well(measured, wanted)};
  return {found(available < needed ? Status::fail : Status::warn, measured, wanted, tell(Text::memory_free_advice))};
}

std::vector<Finding> check_swap(const HostView& view) {
  const std::string meminfo = host::content_or_empty(view.proc + "/meminfo");
  const auto all = number_behind(meminfo, "SwapTotal"), left = number_behind(meminfo, "SwapFree");
  if (!all || !left) return {unchecked(tell(Text::no_file, "/proc/meminfo"))};
  const Told used = tell(Text::swap_used, base::format_bytes(1024 * (*all - *left)), base::format_bytes(1024 * *all));
  const Told wanted = tell(Text::swap_wanted);
  if (!view.measured) return {well(used, wanted)};
  const host::Vitals& before = view.measured->before;
  const host::Vitals& after = view.measured->after;
  const double in = gained(before.swap_in_pages, after.swap_in_pages);
  const Told measured = tell(Text::swap_pages, fmt::format("{:.0f}", in),
                             fmt::format("{:.0f}", gained(before.swap_out_pages, after.swap_out_pages)));
  if (in > few_pages) return {found(Status::warn, measured, wanted, tell(Text::swap_advice))};
  if (after.pressure_memory > much_pressure)
    return {found(Status::warn, tell(Text::memory_pressure, fmt::format("{:.0f}", after.pressure_memory)), wanted,
                  tell(Text::swap_advice))};
  if (in > 0) return {found(Status::note, measured, wanted, tell(Text::swap_note))};
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
    findings.push_back(found(Status::warn, tell(Text::huge_pages, base::format_bytes(huge)),
                             tell(Text::huge_pages_wanted), tell(Text::huge_pages_advice, base::format_bytes(huge))));
  if (policy == 2)
    findings.push_back(found(Status::warn, plain(fmt::format("vm.overcommit_memory={}", *policy)),
                             tell(Text::overcommit_wanted), tell(Text::overcommit_advice)));
  if (!findings.empty()) return findings;
  if (all == 0 && !policy) return {unchecked(tell(Text::no_file, "/proc/meminfo"))};
  return {well(plain(fmt::format("vm.overcommit_memory={}", policy.value_or(0))), tell(Text::overcommit_wanted))};
}

// Whether it is little shows beside other hosts: judge_hosts.h.
std::vector<Finding> check_memory_bandwidth(const HostView& view) {
  if (!view.measured || view.measured->memory_bytes_per_second <= 0) return {unchecked(tell(Text::not_measured))};
  return {well(plain(fmt::format("{:.1f} GB/s", view.measured->memory_bytes_per_second / 1e9)),
               tell(Text::bandwidth_wanted))};
}

}  // namespace troika::doctor
