#include "host/vitals.h"

#include "base/temporary_folder_test_support.h"

namespace troika::host {
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(Vitals, AreReadFromTheFilesOfLinux) {
  const base::TemporaryFolder root;
  const std::string proc = root.path() + "/proc", sys = root.path() + "/sys";
  const auto file = [&](const std::string& path, const std::string& text) {
    base::make_directories(path.substr(0, path.rfind('/')));
    base::write_file_atomic(path, text);
  };
  file(proc + "/loadavg", "1.50 1.00 0.50 3/200 4711\n");
  file(proc + "/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\n");
  file(proc + "/vmstat", "pswpin 7\npswpout 9\noom_kill 2\n");
  file(proc + "/pressure/cpu", "some avg10=12.50 avg60=0.00 avg300=0.00 total=0\n");
  file(proc + "/self/cgroup", "0::/box\n");
  file(sys + "/fs/cgroup/box/memory.max", "512000\n");
  file(sys + "/fs/cgroup/box/cpu.stat", "usage_usec 1\nnr_throttled 4\nthrottled_usec 2500000\n");
  for (const char* core : {"cpu0", "cpu1"}) {
    const std::string folder = sys + "/devices/system/cpu/" + core;
    file(folder + "/cpufreq/scaling_cur_freq", "1200000\n");
    file(folder + "/cpufreq/cpuinfo_max_freq", "2400000\n");
    file(folder + "/thermal_throttle/core_throttle_count", "3\n");
  }
  file(sys + "/class/thermal/thermal_zone0/temp", "61500\n");
  file(sys + "/class/thermal/thermal_zone1/temp", "48000\n");
  file(sys + "/class/hwmon/hwmon1/name", "rpi_volt\n");
  file(sys + "/class/hwmon/hwmon1/in0_lcrit_alarm", "1\n");
  for (const char* link : {"eth0", "eth1", "lo"}) {
    file(sys + "/class/net/" + link + "/operstate", std::string(link) == "eth1" ? "down\n" : "up\n");
    file(sys + "/class/net/" + link + "/statistics/rx_errors", "5\n");
    file(sys + "/class/net/" + link + "/statistics/tx_errors", "1\n");
  }
  const Vitals v = read_vitals(root.path(), proc, sys);
  EXPECT_EQ(v.load, 1.5);
  EXPECT_EQ(v.runnable, 3);
  EXPECT_EQ(v.clock_hertz, 1.2e9);
  EXPECT_EQ(v.clock_limit_hertz, 2.4e9);
  EXPECT_EQ(v.temperature_celsius, 61.5);
  EXPECT_EQ(v.throttles, 6);
  EXPECT_EQ(v.quota_throttled_seconds, 2.5);
  EXPECT_EQ(v.memory_bytes, 512000);
  EXPECT_EQ(v.swap_free_bytes, 60 * 1024);
  EXPECT_EQ(v.swap_in_pages, 7);
  EXPECT_EQ(v.memory_kills, 2);
  EXPECT_EQ(v.pressure_cpu, 12.5);
  EXPECT_EQ(v.pressure_io, -1);
  EXPECT_EQ(v.under_voltage, 1);
  EXPECT_GT(v.disk_free_bytes, 0);
  EXPECT_THAT(v.link_errors, UnorderedElementsAre(Pair("eth0", 6)));
}

TEST(Vitals, WhatAHostDoesNotTellIsLeftOut) {
  const base::TemporaryFolder root;
  const Vitals v = read_vitals("", root.path(), root.path());
  for (const auto& [name, value] : v.numbers()) EXPECT_EQ(name, "cores");
}

TEST(Vitals, NumbersAreSetByTheNamesTheyAreGivenWith) {
  Vitals v;
  v.load = 2;
  v.swap_in_pages = 0;
  Vitals read;
  for (const auto& [name, value] : v.numbers()) read.set(name, value);
  read.set("a name of tomorrow", 1);
  EXPECT_EQ(read.load, 2);
  EXPECT_EQ(read.swap_in_pages, 0);
  EXPECT_EQ(read.temperature_celsius, -1);
}

}  // namespace troika::host
