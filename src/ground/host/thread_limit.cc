#include "host/thread_limit.h"

#include <sys/resource.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "host/memory.h"

namespace troika::host {
namespace {

std::int64_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return -1;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

std::int64_t used_address_bytes() {
  constexpr std::int64_t page = 4096;
  std::int64_t pages = 0;
  const std::string statm = content_or_empty("/proc/self/statm");
  return base::parse_int(statm.substr(0, statm.find(' ')), &pages) ? pages * page : 0;
}

ThreadLimits limits_here() { return {limit_of(RLIMIT_AS), limit_of(RLIMIT_NPROC), used_address_bytes()}; }

struct GroupLimit {
  std::string file;
  std::int64_t most = 0, used = 0;
};

// The one that leaves least room.
std::optional<GroupLimit> group_limit(const std::string& proc, const std::string& cgroup) {
  std::optional<GroupLimit> least;
  for (const std::string& folder : cgroup_folders(proc, cgroup, "pids")) {
    GroupLimit limit{folder + "/pids.max"};
    if (!base::parse_int(base::trim(content_or_empty(limit.file)), &limit.most)) continue;
    base::parse_int(base::trim(content_or_empty(folder + "/pids.current")), &limit.used);
    if (!least || limit.most - limit.used < least->most - least->used) least = limit;
  }
  return least;
}

}  // namespace

bool is_thread_limit(const std::exception& error) {
  const auto* of_system = dynamic_cast<const std::system_error*>(&error);
  return of_system != nullptr && of_system->code() == std::errc::resource_unavailable_try_again;
}

base::Text no_more_threads_in(const std::string& proc, const std::string& cgroup, const ThreadLimits& limits) {
  constexpr std::int64_t few = 8;                          // what others have ended meanwhile
  constexpr std::int64_t stacks = std::int64_t{64} << 20;  // of a few threads
  const auto group = group_limit(proc, cgroup);
  const auto of_group = [&] { return base::say("cannot start another thread or process: '{0}' allows {1}, and {2} are in use; raise it (TasksMax, --pids-limit): each rank needs about 16 besides its compute threads", group->file, group->most, group->used); };
  if (group && group->most - group->used <= few) return of_group();
  if (limits.address_bytes >= 0 && limits.address_bytes - limits.used_address_bytes < stacks)
    return base::say("cannot start another thread or process: this process may use {0} of address space (ulimit -v), and {1} are in use; raise it, or remove the limit (ulimit -v unlimited)", base::format_bytes(limits.address_bytes),
                     base::format_bytes(limits.used_address_bytes));
  if (limits.processes >= 0 && !(group && group->most < limits.processes))
    return base::say("cannot start another thread or process: this user may have {0} (ulimit -u); raise it: each rank needs about 16 besides its compute threads", limits.processes);
  return group ? of_group() : base::say("cannot start another thread or process: memory is low, or a system limit is reached (/proc/sys/kernel/threads-max)");
}

base::Text no_more_threads() { return no_more_threads_in("/proc", "/sys/fs/cgroup", limits_here()); }

base::Text address_limit_text() {
  const ThreadLimits limits = limits_here();
  if (limits.address_bytes < 0) return {};
  return base::say("this process may have {} of address space (ulimit -v), and {} are in use",
                   base::format_bytes(limits.address_bytes), base::format_bytes(limits.used_address_bytes));
}

void require_threads(int count) {
  std::mutex mutex;
  std::condition_variable all_are_there;
  bool done = false;
  std::vector<std::thread> threads;
  const auto end = [&] {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      done = true;
    }
    all_are_there.notify_all();
    for (std::thread& thread : threads) thread.join();
  };
  try {
    for (int i = 0; i < count; ++i)
      threads.push_back(start_thread([&] {
        std::unique_lock<std::mutex> lock(mutex);
        all_are_there.wait(lock, [&] { return done; });
      }));
  } catch (...) {
    end();
    throw;
  }
  end();
}

}  // namespace troika::host
