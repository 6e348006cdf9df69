#include "host/vitals.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "host/cores.h"
#include "host/memory.h"

namespace troika::host {
namespace {

using Member = double Vitals::*;
constexpr std::array<std::pair<std::string_view, Member>, 20> vitals_names = {{
    {"cores", &Vitals::cores},
    {"load", &Vitals::load},
    {"runnable", &Vitals::runnable},
    {"clock_hertz", &Vitals::clock_hertz},
    {"clock_limit_hertz", &Vitals::clock_limit_hertz},
    {"temperature_celsius", &Vitals::temperature_celsius},
    {"throttles", &Vitals::throttles},
    {"quota_throttled_seconds", &Vitals::quota_throttled_seconds},
    {"memory_bytes", &Vitals::memory_bytes},
    {"available_bytes", &Vitals::available_bytes},
    {"swap_bytes", &Vitals::swap_bytes},
    {"swap_free_bytes", &Vitals::swap_free_bytes},
    {"swap_in_pages", &Vitals::swap_in_pages},
    {"swap_out_pages", &Vitals::swap_out_pages},
    {"memory_kills", &Vitals::memory_kills},
    {"pressure_cpu", &Vitals::pressure_cpu},
    {"pressure_memory", &Vitals::pressure_memory},
    {"pressure_io", &Vitals::pressure_io},
    {"disk_free_bytes", &Vitals::disk_free_bytes},
    {"under_voltage", &Vitals::under_voltage},
}};

// A file that begins with a number; -1 where there is none.
double number_in(const std::string& path) {
  double value = -1;
  std::istringstream text(content_or_empty(path));
  return text >> value ? value : -1;
}

// The number behind `key` in a file of such lines, "key 123", "key: 123 kB" or "key=1.5"; -1 when absent.
double number_behind(const std::string& content, std::string_view key) {
  for (const std::string& line : base::split(content, '\n')) {
    if (line.size() <= key.size() || line.compare(0, key.size(), key) != 0) continue;
    const char next = line[key.size()];
    if (next != ' ' && next != ':' && next != '=') continue;
    double value = -1;
    std::istringstream rest(line.substr(key.size() + 1));
    return rest >> value ? value : -1;
  }
  return -1;
}

void add(double& sum, double value) {
  if (value >= 0) sum = std::max(sum, 0.0) + value;
}

void read_load(const std::string& proc, Vitals& v) {
  std::istringstream text(content_or_empty(proc + "/loadavg"));
  double five = 0, fifteen = 0;
  std::string threads;
  if (!(text >> v.load >> five >> fifteen >> threads)) return;
  base::parse_double(threads.substr(0, threads.find('/')), &v.runnable);
}

void read_clocks(const std::string& proc, const std::string& sys, Vitals& v) {
  double sum = 0, count = 0;
  const std::string cpus = sys + "/devices/system/cpu/";
  for (const std::string& name : base::list_directory(cpus)) {
    if (name.rfind("cpu", 0) != 0 || name.size() < 4 || name.find_first_not_of("0123456789", 3) != std::string::npos)
      continue;
    const double kilohertz = number_in(cpus + name + "/cpufreq/scaling_cur_freq");
    if (kilohertz > 0) {
      sum += kilohertz * 1e3;
      count += 1;
    }
    const double most = number_in(cpus + name + "/cpufreq/cpuinfo_max_freq");
    if (most > 0) v.clock_limit_hertz = std::max(v.clock_limit_hertz, most * 1e3);
    add(v.throttles, number_in(cpus + name + "/thermal_throttle/core_throttle_count"));
  }
  if (count == 0) {
    for (const std::string& line : base::split(content_or_empty(proc + "/cpuinfo"), '\n')) {
      double megahertz = 0;
      if (line.rfind("cpu MHz", 0) != 0 || !base::parse_double(base::trim(line.substr(line.find(':') + 1)), &megahertz))
        continue;
      sum += megahertz * 1e6;
      count += 1;
    }
  }
  if (count > 0) v.clock_hertz = sum / count;
}

void read_heat(const std::string& sys, Vitals& v) {
  const std::string zones = sys + "/class/thermal/";
  for (const std::string& name : base::list_directory(zones)) {
    if (name.rfind("thermal_zone", 0) != 0) continue;
    const double thousandths = number_in(zones + name + "/temp");
    if (thousandths > 0) v.temperature_celsius = std::max(v.temperature_celsius, thousandths / 1000);
  }
  const std::string chips = sys + "/class/hwmon/";
  for (const std::string& name : base::list_directory(chips))
    if (base::trim(content_or_empty(chips + name + "/name")) == "rpi_volt")
      v.under_voltage = number_in(chips + name + "/in0_lcrit_alarm");
}

void read_memory(const std::string& proc, const std::string& sys, Vitals& v) {
  const std::string cgroup = sys + "/fs/cgroup", meminfo = content_or_empty(proc + "/meminfo");
  const auto bytes = [&](const char* key) {
    const double kilobytes = number_behind(meminfo, key);
    return kilobytes < 0 ? -1 : kilobytes * 1024;
  };
  v.memory_bytes = bytes("MemTotal");
  v.swap_bytes = bytes("SwapTotal");
  v.swap_free_bytes = bytes("SwapFree");
  v.available_bytes = static_cast<double>(available_bytes(proc, cgroup));
  const std::string vmstat = content_or_empty(proc + "/vmstat");
  v.swap_in_pages = number_behind(vmstat, "pswpin");
  v.swap_out_pages = number_behind(vmstat, "pswpout");
  v.memory_kills = static_cast<double>(memory_kills(proc, cgroup));
  for (const std::string& folder : cgroup_folders(proc, cgroup, "memory")) {
    for (const char* limit : {"/memory.max", "/memory.limit_in_bytes"}) {
      const double most = number_in(folder + limit);
      if (most > 0 && v.memory_bytes > 0) v.memory_bytes = std::min(v.memory_bytes, most);
    }
  }
}

void read_quota(const std::string& proc, const std::string& sys, Vitals& v) {
  for (const std::string& folder : cgroup_folders(proc, sys + "/fs/cgroup", "cpu")) {
    const std::string statistics = content_or_empty(folder + "/cpu.stat");
    const double version_2 = number_behind(statistics, "throttled_usec"),
                 version_1 = number_behind(statistics, "throttled_time");
    if (version_2 >= 0) v.quota_throttled_seconds = std::max(v.quota_throttled_seconds, version_2 * 1e-6);
    if (version_1 >= 0) v.quota_throttled_seconds = std::max(v.quota_throttled_seconds, version_1 * 1e-9);
  }
}

double pressure(const std::string& path) {
  std::istringstream text(content_or_empty(path));
  std::string some, average;
  double value = -1;
  if (!(text >> some >> average) || average.rfind("avg10=", 0) != 0) return -1;
  return base::parse_double(average.substr(6), &value) ? value : -1;
}

void read_links(const std::string& sys, Vitals& v) {
  const std::string links = sys + "/class/net/";
  for (const std::string& name : base::list_directory(links)) {
    if (name == "lo" || base::trim(content_or_empty(links + name + "/operstate")) != "up") continue;
    double errors = 0;
    for (const char* counter : {"rx_errors", "tx_errors"})
      errors += std::max(0.0, number_in(links + name + "/statistics/" + counter));
    v.link_errors[name] = static_cast<std::int64_t>(errors);
  }
}

}  // namespace

double free_disk_bytes(const std::string& folder) {
  struct statvfs facts {};
  if (folder.empty() || ::statvfs(folder.c_str(), &facts) != 0) return -1;
  return static_cast<double>(facts.f_bavail) * static_cast<double>(facts.f_frsize);
}

std::vector<std::pair<std::string, double>> Vitals::numbers() const {
  std::vector<std::pair<std::string, double>> known;
  for (const auto& [name, member] : vitals_names)
    if (this->*member >= 0) known.emplace_back(name, this->*member);
  return known;
}

void Vitals::set(const std::string& name, double value) {
  for (const auto& [known, member] : vitals_names)
    if (known == name) this->*member = value;
}

Vitals read_vitals(const std::string& folder, const std::string& proc, const std::string& sys) {
  Vitals v;
  v.cores = usable_cores();
  read_load(proc, v);
  read_clocks(proc, sys, v);
  read_heat(sys, v);
  read_memory(proc, sys, v);
  read_quota(proc, sys, v);
  v.pressure_cpu = pressure(proc + "/pressure/cpu");
  v.pressure_memory = pressure(proc + "/pressure/memory");
  v.pressure_io = pressure(proc + "/pressure/io");
  read_links(sys, v);
  v.disk_free_bytes = free_disk_bytes(folder);
  return v;
}

}  // namespace troika::host
