#include "doctor/host_view.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <iterator>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/text.h"
#include "doctor/host_report.h"
#include "doctor/tree.h"
#include "host/memory.h"
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

bool starts(const std::string& text, std::string_view beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

// The build of the program's file.
std::string build_of(const std::string& program) {
  try {
    return base::file_exists(program) ? base::hash_file(program).substr(0, 8) : "";
  } catch (const base::DataError&) {  // not readable for this user
    return "";
  }
}

// The line of /proc/cpuinfo behind one of these names.
std::string line_of_processor(const std::string& cpuinfo, const std::vector<std::string>& names) {
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = base::trim(line.substr(0, colon));
    if (std::find(names.begin(), names.end(), name) != names.end()) return base::trim(line.substr(colon + 1));
  }
  return "";
}

// The widest of what kernels choose by.
std::string instructions_of(const std::string& flags) {
  std::istringstream words(flags);
  const std::set<std::string> all{std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
  std::vector<std::string> some;
  for (const char* one : {"avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve", "bf16"})
    if (all.count(one) != 0) some.emplace_back(one);
  return base::join(some, " ");
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

std::map<std::string, std::string> watched_variables(const std::map<std::string, std::string>& environment) {
  static const std::set<std::string> names = {"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME",     "OMP_NUM_THREADS",
                                              "MKL_NUM_THREADS",    "OPENBLAS_NUM_THREADS", "CUDA_VISIBLE_DEVICES"};
  static const std::set<std::string> proxies = {"http_proxy", "https_proxy", "all_proxy",
                                                "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};
  const bool launched = environment.count("TROIKA_STORE") != 0;  // then the launcher has chosen the threads
  std::map<std::string, std::string> watched;
  for (const auto& [name, value] : environment) {
    if (value.empty() || (launched && name == "OMP_NUM_THREADS")) continue;
    if (starts(name, "NCCL_") || names.count(name) != 0) watched[name] = value;
    if (proxies.count(name) != 0) watched[name] = "***";
  }
  return watched;
}

HostFacts facts_of(const HostView& view, const std::string& program) {
  HostFacts facts;
  for (const Interface& one : view.interfaces)
    if (one.up && carries_runs(one)) facts.interfaces.push_back(one);
  facts.environment = watched_variables(view.environment);
  utsname system{};
  ::uname(&system);
  const std::string cpuinfo = host::content_or_empty(view.proc + "/cpuinfo");
  facts.versions = {{"build", build_of(program)},
                    {"kernel", system.release},
                    {"processor", line_of_processor(cpuinfo, {"model name", "Model"})},
                    {"instructions", instructions_of(line_of_processor(cpuinfo, {"flags", "Features"}))}};
  if (view.measured) facts.memory_bytes_per_second = view.measured->memory_bytes_per_second;
  facts.interface = view.want.interface;
  facts.folder = view.disk ? view.disk->folder : view.want.folder;
  return facts;
}

}  // namespace troika::doctor
