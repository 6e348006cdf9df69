#include "doctor/host_view.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/file.h"
#include "base/host_name.h"
#include "doctor/resolve.h"
#include "doctor/tree.h"
#include "host/cores.h"
#include "host/network.h"
#include "host/subprocess.h"

namespace troika::doctor {
namespace {

std::int64_t limit(rlim_t value) {
  return value == RLIM_INFINITY ? -1 : static_cast<std::int64_t>(std::min<rlim_t>(value, INT64_MAX));
}

Limits read_limits() {
  Limits limits;
  rlimit files{RLIM_INFINITY, RLIM_INFINITY}, locked = files, processes = files;
  ::getrlimit(RLIMIT_NOFILE, &files);
  ::getrlimit(RLIMIT_MEMLOCK, &locked);
  ::getrlimit(RLIMIT_NPROC, &processes);
  limits.files_soft = limit(files.rlim_cur);
  limits.files_hard = limit(files.rlim_max);
  limits.locked_bytes = limit(locked.rlim_cur);
  limits.processes = ::geteuid() == 0 ? -1 : limit(processes.rlim_cur);  // root is not held to it
  return limits;
}

std::optional<ClockState> read_clock() {
  timex state{};  // modes 0: it only reads
  if (::adjtimex(&state) < 0) return std::nullopt;
  return ClockState{(state.status & STA_UNSYNC) == 0, static_cast<double>(state.maxerror) * 1e-6};
}

PortState try_port(int port) {
  if (host::socket_at(SOCK_STREAM, "0.0.0.0", port, 1)) return PortState::free;
  return errno == EACCES ? PortState::forbidden : errno == EADDRINUSE ? PortState::taken : PortState::not_asked;
}

// The folder itself, or the nearest above it that is there.
std::string existing_folder(const std::string& folder) {
  std::string path = folder.empty() ? "." : folder;
  while (!base::directory_exists(path)) {
    const auto slash = path.find_last_of('/');
    path = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  }
  char real[PATH_MAX] = {};
  return ::realpath(path.c_str(), real) == nullptr ? path : real;
}

std::optional<Disk> read_disk(const std::string& folder) {
  Disk disk;
  disk.folder = existing_folder(folder);
  struct statfs facts {};
  if (::statfs(disk.folder.c_str(), &facts) != 0) return std::nullopt;
  disk.type = static_cast<std::uint32_t>(facts.f_type);
  disk.free_bytes = static_cast<std::int64_t>(facts.f_bavail) * static_cast<std::int64_t>(facts.f_bsize);
  disk.writable = ::access(disk.folder.c_str(), W_OK) == 0;  // also false on a file system mounted read-only
  return disk;
}

}  // namespace

HostView view_of_this_host(const Want& want, const std::map<std::string, std::string>& environment, PortState port) {
  HostView view;
  view.environment = environment;
  view.name = base::host_name();
  view.want = want;
  view.limits = read_limits();
  view.clock = read_clock();
  view.interfaces = read_interfaces(view.sys);
  view.port = port;
  if (port == PortState::not_asked && want.port > 0) view.port = try_port(want.port);
  if (view.port == PortState::taken) view.port_holder = host::port_holder(want.port);
  view.disk = read_disk(want.folder);
  view.cores = std::max<int>(1, static_cast<int>(host::allowed_cores().size()));
  if (word_in(view.proc + "/device-tree/model").find("Raspberry Pi") != std::string::npos)
    view.vcgencmd = host::output_of({"vcgencmd", "get_throttled"}, environment, 1.0);
  view.resolve = [](const std::string& name) { return resolve_within(name, 2.0); };
  return view;
}

}  // namespace troika::doctor
