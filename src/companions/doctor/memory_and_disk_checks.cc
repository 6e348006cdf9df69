#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/text.h"
#include "base/units.h"
#include "doctor/check.h"
#include "doctor/tree.h"
#include "host/memory.h"
#include "records/health.h"

namespace troika::doctor {
namespace {

constexpr std::int64_t least_free_memory = std::int64_t{512} << 20;
constexpr double much_reserved = 0.1;  // of the memory in huge pages

double gained(double before, double after) { return before < 0 || after < 0 ? 0 : after - before; }

constexpr double suspiciously_fast = 0.1e-3, slow_sync = 50e-3;  // seconds
constexpr std::int64_t little_space = std::int64_t{1} << 30, hardly_space = std::int64_t{64} << 20;

constexpr std::uint64_t nfs = 0x6969, tmpfs = 0x1021994, ramfs = 0x858458f6, overlay = 0x794c7630;

std::string name_of_type(std::uint64_t type) {
  static const std::map<std::uint64_t, std::string> names = {
      {nfs, "NFS"},          {tmpfs, "tmpfs"},    {ramfs, "ramfs"},    {overlay, "overlay"},  {0x65735546, "FUSE"},
      {0xBD00BD0, "Lustre"}, {0xEF53, "ext4"},    {0x58465342, "XFS"}, {0x9123683E, "Btrfs"}, {0x2FC12FC1, "ZFS"},
      {0xFF534D42, "CIFS"},  {0xFE534D42, "SMB"}, {0x01021997, "9p"},  {0x6A656A63, "FUSE"},  {0xF2F52010, "F2FS"}};
  const auto found = names.find(type);
  return found == names.end() ? fmt::format("0x{:X}", type) : found->second;
}

bool is_below(const std::string& path, const std::string& folder) {
  if (folder == "/" || path == folder) return true;
  return path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 && path[folder.size()] == '/';
}

// Options of the mount that holds `path`, of both halves of its line: the longest mount point above it, of equal ones the last.
std::vector<std::string> mount_options(const HostView& view, const std::string& path) {
  std::string longest, options;
  std::istringstream lines(host::content_or_empty(view.proc + "/self/mountinfo"));
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = base::split(line, ' ');
    if (words.size() < 6 || !is_below(path, words[4]) || words[4].size() < longest.size()) continue;
    longest = words[4];
    options = words[5] + "," + words.back();
  }
  return base::split(options, ',');
}

bool holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::vector<Finding> check_free_memory(const HostView& view) {
  const std::int64_t available = host::available_bytes(view.proc, view.sys + "/fs/cgroup");
  if (available < 0) return {unchecked(base::say("{} is missing or not readable", "/proc/meminfo"))};
  const std::int64_t needed = view.want.memory_bytes;
  const base::Text measured = base::say("{} available", base::format_bytes(available));
  const base::Text wanted = needed > 0 ? base::say("{} for this run", base::format_bytes(needed))
                                 : base::say("at least {}", base::format_bytes(least_free_memory));
  if (available >= std::max(needed, least_free_memory)) return {well(measured, wanted)};
  return {found(available < needed ? Status::fail : Status::warn, measured, wanted, base::say("Stop other programs on this host, or lower batch.micro_batch_size."))};
}

std::vector<Finding> check_swap(const HostView& view) {
  const std::string meminfo = host::content_or_empty(view.proc + "/meminfo");
  const auto all = number_behind(meminfo, "SwapTotal"), left = number_behind(meminfo, "SwapFree");
  if (!all || !left) return {unchecked(base::say("{} is missing or not readable", "/proc/meminfo"))};
  const base::Text used = base::say("{} of {} swap used, none read back", base::format_bytes(1024 * (*all - *left)), base::format_bytes(1024 * *all));
  const base::Text wanted = base::say("nothing swapped in meanwhile");
  if (!view.measured) return {well(used, wanted)};
  const host::Vitals& before = view.measured->before;
  const host::Vitals& after = view.measured->after;
  const double in = gained(before.swap_in_pages, after.swap_in_pages);
  const base::Text measured = base::say("{} pages swapped in and {} out within seconds", fmt::format("{:.0f}", in),
                             fmt::format("{:.0f}", gained(before.swap_out_pages, after.swap_out_pages)));
  if (records::is_swapping(in)) return {found(Status::warn, measured, wanted, base::say("The host swaps, and a step will be 10 to 100 times slower: stop other programs, lower the run's memory, or turn swap off."))};
  if (after.pressure_memory > records::much_memory_pressure)
    return {found(Status::warn, base::say("programs were stalled {} % of the last 10 s on memory", fmt::format("{:.0f}", after.pressure_memory)), wanted,
                  base::say("The host swaps, and a step will be 10 to 100 times slower: stop other programs, lower the run's memory, or turn swap off."))};
  if (in > 0) return {found(Status::note, measured, wanted, base::say("A few pages were swapped in; more would slow training."))};
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
    findings.push_back(found(Status::warn, base::say("{} reserved for huge pages", base::format_bytes(huge)),
                             base::say("at most a tenth of the memory"), base::say("{} are reserved for huge pages, which training cannot use: lower vm.nr_hugepages.", base::format_bytes(huge))));
  if (policy == 2)
    findings.push_back(found(Status::warn, base::verbatim(fmt::format("vm.overcommit_memory={}", *policy)),
                             base::say("vm.overcommit_memory 0 or 1"), base::say("Large mappings may fail though memory is free: set vm.overcommit_memory to 0.")));
  if (!findings.empty()) return findings;
  if (all == 0 && !policy) return {unchecked(base::say("{} is missing or not readable", "/proc/meminfo"))};
  return {well(base::verbatim(fmt::format("vm.overcommit_memory={}", policy.value_or(0))), base::say("vm.overcommit_memory 0 or 1"))};
}

// Whether it is little shows beside other hosts: judge.h.
std::vector<Finding> check_memory_bandwidth(const HostView& view) {
  if (!view.measured || view.measured->memory_bytes_per_second <= 0) return {unchecked(base::say("not measured"))};
  return {well(base::verbatim(fmt::format("{:.1f} GB/s", view.measured->memory_bytes_per_second / 1e9)),
               base::say("as on the other hosts"))};
}

std::vector<Finding> check_fsync(const HostView& view) {
  if (!view.measured || view.measured->sync_seconds < 0) return {unchecked(base::say("not measured"))};
  const double seconds = view.measured->sync_seconds;
  const base::Text measured = base::verbatim(base::format_duration(seconds)), wanted = base::say("0.1 to 50 ms for a synced write of 4 KiB");
  if (seconds > slow_sync) return {found(Status::warn, measured, wanted, base::say("Saves will be slow on this disk: choose another one for --out."))};
  if (seconds < suspiciously_fast) return {found(Status::note, measured, wanted, base::say("A write this fast has not reached the disk unless its cache is protected: saves may not survive a power loss."))};
  return {well(measured, wanted)};
}

std::vector<Finding> check_file_system(const HostView& view) {
  if (!view.disk) return {unchecked(base::say("there is no such folder"))};
  const Disk& disk = *view.disk;
  const std::vector<std::string> options = mount_options(view, disk.folder);
  const base::Text measured = base::verbatim(fmt::format("{}: {}", disk.folder, name_of_type(disk.type)));
  const base::Text wanted = base::say("a persistent, writable file system");
  if (!disk.writable)
    return {found(Status::fail, base::say("{} is not writable", disk.folder), wanted, base::say("Choose another folder for --out, or make this one writable for this user."))};
  if (disk.type == nfs && holds(options, "soft"))
    return {found(Status::warn, base::verbatim(fmt::format("{}: NFS, soft", disk.folder)), wanted, base::say("A soft mount loses writes when the server is slow: mount it hard."))};
  if (disk.type == tmpfs || disk.type == ramfs)
    return {found(Status::warn, measured, wanted, base::say("Files saved here are in memory and lost after a restart: choose a disk for --out."))};
  if (disk.type == overlay) return {found(Status::note, measured, wanted, base::say("Files saved here disappear with the container: mount a volume for --out."))};
  return {well(measured, wanted)};
}

std::vector<Finding> check_free_space(const HostView& view) {
  if (!view.disk) return {unchecked(base::say("there is no such folder"))};
  const std::int64_t left = view.disk->free_bytes, saved = view.want.disk_bytes;
  const auto needed = saved > 0 ? static_cast<std::int64_t>(records::wanted_disk_bytes(static_cast<double>(saved))) : 0;
  const base::Text measured = base::say("{} free at {}", base::format_bytes(left), view.disk->folder);
  const base::Text wanted = needed > 0 ? base::say("{} for the checkpoints kept", base::format_bytes(needed))
                                 : base::say("at least {}", base::format_bytes(little_space));
  const base::Text advice = needed > 0 ? base::say("Checkpoints need {}, but only {} is free: lower checkpoint.keep or choose another --out.", base::format_bytes(needed), base::format_bytes(left))
                                 : base::say("Free some space there, or choose another --out.");
  if (left < hardly_space) return {found(Status::fail, measured, wanted, advice)};
  if (view.measured && !view.measured->space_is_granted)
    return {found(Status::warn, base::say("the system refuses to allocate as much at {}", view.disk->folder), wanted, base::say("A quota may be the limit: ask for a larger one, or choose another --out."))};
  if (left < (needed > 0 ? needed : little_space)) return {found(Status::warn, measured, wanted, advice)};
  return {well(measured, wanted)};
}

}  // namespace troika::doctor
