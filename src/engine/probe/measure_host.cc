#include "probe/measure_host.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/cause.h"
#include "base/text.h"
#include "gpu/device.h"
#include "host/cores.h"
#include "host/memory.h"
#include "host/process.h"
#include "probe/fit.h"
#include "probe/links.h"
#include "probe/team.h"
#include "tensor/accelerator.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace troika::probe {
namespace {

// The members that compute at once, one for each core; and one process with all cores.
std::vector<Membership> one_per_core() {
  const std::vector<int> cores = host::allowed_cores();
  std::vector<Membership> members(static_cast<std::size_t>(host::usable_cores()));
  for (std::size_t i = 0; i < members.size(); ++i) members[i] = {1, i < cores.size() ? cores[i] : -1};
  return members;
}

// A team with the best seconds of each kernel so far: what else the machine does makes a kernel slower and never faster.
struct Timing {
  Timing(const std::vector<Membership>& members, const std::map<std::string, std::string>& environment,
         std::size_t kernels)
      : team(members, environment), best(kernels, std::numeric_limits<double>::infinity()) {}

  void time(std::size_t kernel, double seconds) { best[kernel] = std::min(best[kernel], team.time(kernel, seconds)); }

  Team team;
  std::vector<double> best;
};

// Those that took longer than the rates of all of them predict are the ones that something may have disturbed.
std::vector<std::size_t> slow_ones(const std::vector<TimedKernel>& kernels, const std::vector<double>& seconds) {
  const machine::Rates rates = fit_rates(kernels, seconds);
  std::vector<std::size_t> slow;
  for (std::size_t k = 0; k < kernels.size(); ++k)
    if (seconds[k] > predicted_seconds(rates, kernels[k])) slow.push_back(k);
  return slow;
}

// Every kernel once, then again and again what was slow. Both teams in turn, so that a slow minute of the machine is one for both.
void time_all(const std::vector<TimedKernel>& kernels, double seconds, std::vector<Timing>& timings) {
  const double until = base::monotonic_seconds() + seconds;
  const double slot = std::min(0.01, 0.2 * seconds / static_cast<double>(kernels.size() * timings.size()));
  for (std::size_t k = 0; k < kernels.size(); ++k)
    for (Timing& timing : timings) timing.time(k, slot);
  while (base::monotonic_seconds() < until) {
    for (Timing& timing : timings) {
      for (const std::size_t k : slow_ones(kernels, timing.best)) {
        if (base::monotonic_seconds() > until) return;
        timing.time(k, slot);
      }
    }
  }
}

// All cores together are no slower than one of them; where they seem to be, other programs had a core.
std::vector<double> no_slower(std::vector<double> seconds, const std::vector<double>& most) {
  for (std::size_t k = 0; k < seconds.size(); ++k) seconds[k] = std::min(seconds[k], most[k]);
  return seconds;
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
  const tensor::Device device = gpu::pick_device("auto", 0);
  host.name = base::host_name();
  host.source.kind = machine::Source::Kind::probe;
  host.cores = host::usable_cores();
  host.devices = device.is_cpu() ? 0 : device.accelerator().devices();
  host.device = device.is_cpu() ? processor_name() : device.accelerator().traits(device).name;
  host.memory_bytes = device.is_cpu() ? free_memory() : tensor::free_bytes(device);
  host.disk_bytes_per_second = disk_rate_or_none(folder);
  measured.kernels = kernels_of(device);
  const bool once = host.cores == 1 || !device.is_cpu();
  std::vector<std::vector<Membership>> teams{{{host.cores, -1}}};
  if (!once) teams.insert(teams.begin(), one_per_core());
  std::vector<Timing> timings;
  for (const auto& members : teams) timings.emplace_back(members, environment, measured.kernels.size());
  host.program_bytes = timings.front().team.resident_bytes();
  time_all(measured.kernels, seconds, timings);
  measured.seconds = timings.front().best;
  measured.alone_seconds = no_slower(timings.back().best, measured.seconds);
  host.rates = fit_rates(measured.kernels, measured.seconds);
  host.alone = fit_rates(measured.kernels, measured.alone_seconds);
  return measured;
}

machine::Link measure_inside(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> words{host::running_program(), "launch", "--nproc-per-node", "2", "--", "probe"};
  words.push_back(inside_link_word);
  Child launcher(words, environment_of_nobody(environment));
  const std::string said = launcher.hear_all();
  const int code = launcher.wait();
  machine::Link link;
  if (code != 0 || !read_inside_link(said, &link))
    throw base::PeerError(
        base::say("two ranks started to measure the link between processes of {} exited with code {}",
                    base::host_name(), code));
  return link;
}

namespace {

// A file without a name in the end: gone when this object goes, whatever happens.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& folder) : path_(folder + "/.troika-probe-XXXXXX") {
    descriptor_ = ::mkstemp(path_.data());
    if (descriptor_ < 0) fail(base::Phrase("cannot make a file in the folder of '{}': {}"));
    ::unlink(path_.c_str());
  }
  ~ScratchFile() { ::close(descriptor_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  void write(const std::vector<char>& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno != EINTR) fail(base::Phrase("cannot write in the folder of '{}': {}"));
      if (count > 0) done += static_cast<std::size_t>(count);
    }
    if (::fsync(descriptor_) != 0) fail(base::Phrase("cannot write in the folder of '{}': {}"));
  }

 private:
  [[noreturn]] void fail(base::Phrase what) const {
    throw base::DataError(base::say(what, path_, base::system_cause(errno)));
  }
  std::string path_;
  int descriptor_ = -1;
};

std::string value_of_line(const std::string& text, const std::string& key) {
  for (const std::string& line : base::split(text, '\n')) {
    const auto colon = line.find(':');
    if (colon != std::string::npos && base::trim(line.substr(0, colon)) == key)
      return base::printable(base::trim(line.substr(colon + 1)), 80);
  }
  return "";
}

}  // namespace

std::string processor_name_in(const std::string& cpuinfo) {
  for (const char* key : {"model name", "Model", "Hardware"})
    if (const std::string name = value_of_line(cpuinfo, key); !name.empty()) return name;
  return "processor";
}

std::string processor_name() {
  try {
    return processor_name_in(base::read_file("/proc/cpuinfo"));
  } catch (const base::DataError&) {
    return processor_name_in("");
  }
}

double disk_bytes_per_second(const std::string& folder) {
  constexpr std::size_t piece_bytes = 8 << 20, most_bytes = 64 << 20;
  constexpr double most_seconds = 2;
  std::vector<char> piece(piece_bytes);
  for (std::size_t i = 0; i < piece.size(); ++i)
    piece[i] = static_cast<char>(i * 2654435761u >> 13);  // not compressible
  ScratchFile file(folder);
  std::size_t bytes = 0;
  const double begin = base::monotonic_seconds();
  double seconds = 0;
  while (bytes < most_bytes && seconds < most_seconds) {
    file.write(piece);
    bytes += piece.size();
    seconds = base::monotonic_seconds() - begin;
  }
  return static_cast<double>(bytes) / seconds;
}

double load_average() {
  try {
    double load = 0;
    const std::string text = base::read_file("/proc/loadavg");
    return base::parse_double(text.substr(0, text.find(' ')), &load) ? load : 0;
  } catch (const base::DataError&) {
    return 0;
  }
}

std::string folder_of_file(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  if (!base::directory_exists(folder))
    throw base::ConfigError(base::say("there is no folder '{}' for '{}'; create it first", folder, path));
  return folder;
}

}  // namespace troika::probe
