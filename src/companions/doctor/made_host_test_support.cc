#include "doctor/made_host_test_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace troika::doctor {

MadeHost::MadeHost() {
  view.proc = folder_.path() + "/proc";
  view.sys = folder_.path() + "/sys";
  view.etc = folder_.path() + "/etc";
  view.dev = folder_.path() + "/dev";
  view.name = "pi1";
  view.cores = 4;
  view.limits = {65536, 65536, -1, -1};
  view.clock = ClockState{true, 0.001};
  view.disk = Disk{"/runs", true, 0xEF53, std::int64_t{100} << 30};
  view.resolve = [](const std::string&) { return std::vector<std::string>{"192.168.1.11"}; };
  proc("self/cgroup", "0::/box\n");
  proc("self/mountinfo", "1 0 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n");
  proc("loadavg", "0.10 0.10 0.10 1/100 4711\n");
  proc("meminfo",
       "MemTotal:       16000000 kB\nMemAvailable:   15000000 kB\nSwapTotal:       1000000 kB\nSwapFree:        "
       "1000000 kB\nHugePages_Total:       0\nHugepagesize:       2048 kB\n");
  proc("sys/vm/overcommit_memory", "0\n");
  proc("sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
  proc("net/route", "Iface Destination Gateway Flags\neth0 00000000 0101A8C0 0003\n");
  etc("hosts", "127.0.0.1 localhost\n192.168.1.11 pi1 # the first\n");
  group("memory.max", "max\n");
  group("cpu.max", "max 100000\n");
  for (const char* cpu : {"cpu0", "cpu1", "cpu2", "cpu3"}) {
    sys(fmt::format("devices/system/cpu/{}/cpufreq/scaling_governor", cpu), "schedutil\n");
    sys(fmt::format("devices/system/cpu/{}/cpufreq/cpuinfo_max_freq", cpu), "2000000\n");
    sys(fmt::format("devices/system/cpu/{}/cpufreq/scaling_cur_freq", cpu), "1900000\n");
  }
  sys("class/thermal/thermal_zone0/temp", "45000\n");
  add_interface("eth0", "192.168.1.11", 24);
}

void MadeHost::write(const std::string& path, const std::string& content) {
  base::make_directories(path.substr(0, path.rfind('/')));
  std::ofstream(path) << content;  // nobody needs it on a disk
}

void MadeHost::add_interface(const std::string& name, const std::string& address, int prefix, bool wireless) {
  sys("class/net/" + name + "/mtu", "1500\n");
  sys("class/net/" + name + "/speed", wireless ? "-1\n" : "1000\n");
  sys("class/net/" + name + "/duplex", wireless ? "unknown\n" : "full\n");
  if (wireless) base::make_directories(view.sys + "/class/net/" + name + "/wireless");
  Interface one;
  one.name = name;
  one.up = true;
  one.addresses = {{address, prefix}};
  read_details(view.sys, one);
  view.interfaces.push_back(one);
}

Interface& MadeHost::interface(const std::string& name) {
  return *std::find_if(view.interfaces.begin(), view.interfaces.end(),
                       [&](const Interface& one) { return one.name == name; });
}

Measured& MadeHost::measured() {
  if (view.measured) return *view.measured;
  Measured measured;
  host::Vitals vitals;
  vitals.clock_hertz = 1.9e9;
  vitals.clock_limit_hertz = 2e9;
  vitals.temperature_celsius = 45;
  vitals.throttles = 7;
  vitals.swap_in_pages = 1000;
  vitals.swap_out_pages = 1000;
  vitals.pressure_memory = 0;
  vitals.link_errors = {{"eth0", 3}};
  measured.before = measured.loaded = measured.after = vitals;
  measured.sync_seconds = 4e-3;
  measured.memory_bytes_per_second = 12e9;
  view.measured = measured;
  return *view.measured;
}

std::vector<Finding> MadeHost::ill(const std::string& check) const {
  std::vector<Finding> findings;
  for (Finding& one : look_at(view))
    if (one.check == check && one.status != Status::ok) findings.push_back(std::move(one));
  return findings;
}

Status MadeHost::status(const std::string& check) const {
  std::vector<Finding> findings;
  for (Finding& one : look_at(view))
    if (one.check == check) findings.push_back(std::move(one));
  EXPECT_EQ(findings.size(), 1u) << check;
  return findings.empty() ? Status::not_checked : findings.front().status;
}

std::string MadeHost::said(const std::string& check) const {
  std::string text;
  for (const Finding& one : ill(check))
    text += fmt::format("{} {}\n", word_of(one.status), one.advice.empty() ? one.measured.english : one.advice.english);
  return text;
}

}  // namespace troika::doctor
