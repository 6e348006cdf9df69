// The state of a host: load, clock, heat, throttling, memory, swapping, pressure, links. Values that Linux does not
// provide are absent.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troika::host {

// A negative number: not known. Counters count since the host (or the control group) began; the difference of two counts.
struct Vitals {
  double cores = -1;                               // that this process may use, with a quota
  double load = -1;                                // of the last minute, in threads that wanted a core
  double runnable = -1;                            // threads that want one now
  double clock_hertz = -1;                         // the mean over the cores
  double clock_limit_hertz = -1;                   // the largest that the processor has
  double temperature_celsius = -1;                 // of the hottest zone
  double throttles = -1;                           // by heat, a counter over all cores
  double quota_throttled_seconds = -1;             // the control group stood because its quota was used up, a counter
  double memory_bytes = -1, available_bytes = -1;  // of the host or the least control group
  double swap_bytes = -1, swap_free_bytes = -1;
  double swap_in_pages = -1, swap_out_pages = -1;  // counters
  double memory_kills = -1;                        // processes of the control group, or of the host, a counter
  double pressure_cpu = -1, pressure_memory = -1,
         pressure_io = -1;                          // percent of the last 10 s in which some thread stood for it
  double disk_free_bytes = -1;                      // where the run's folder is
  double under_voltage = -1;                        // of a Raspberry Pi: 1 while there is
  std::map<std::string, std::int64_t> link_errors;  // by interface that is up, a counter

  // Each with its name in files, in order; those not known are left out.
  std::vector<std::pair<std::string, double>> numbers() const;
  void set(const std::string& name, double value);  // nothing for a name that is none
};

// Bytes that an unprivileged user may still write on the disk of `folder`; -1 where that is unknown. May wait for a disk.
double free_disk_bytes(const std::string& folder);

// `folder`: whose disk is looked at; "": none. `proc` and `sys`: /proc and /sys, or other roots in tests.
Vitals read_vitals(const std::string& folder, const std::string& proc = "/proc", const std::string& sys = "/sys");
}  // namespace troika::host
