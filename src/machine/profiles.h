// Devices by name, for plans of machines that are not at hand. Numbers of data sheets, measurements that others published, and
// the shares of them that a training reaches: fitted on published rows of other programs than Troika.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"
#include "machine/cluster.h"

namespace troika::machine {

// One accelerator, by its maker and by those who measured it.
struct Accelerator {
  std::string name;   // "a100-80"
  std::string title;  // "NVIDIA A100 SXM, 80 GB"
  double memory_gibibytes;
  // 10^12 operations per second of dense products with fp32 sums: of fp32 and of halves by the data sheet, of halves by a large
  // product that was run (0: nobody's is known).
  double fp32_sheet, half_sheet, half_measured;
  enum class Bf16 { no, yes } bf16;
  double memory_gigabytes;  // 10^9 bytes per second
  double inside_gigabytes;  // the same between two devices of a host, each way: NVLink, else PCIe
  double network_gigabits;  // of a host, 10^9 bits per second
  int devices_per_host;
};

const std::vector<Accelerator>& accelerators();

// What trainings reach, as shares: the constants of all accelerators.
struct Reach {
  double products;       // of a large product that was run, or of 0.8 of the sheet's
  double attention;      // of that, again
  double links;          // of NVLink, PCIe and the network
  double memory = 0.85;  // of the memory's rate, in everything; as copies reach it, not fitted
};
// Fitted on published rows (planner/published_rows_test_support.h; its test says how well).
Reach fitted_reach();

Host host_of(const Accelerator& accelerator, int devices, const Reach& reach);
Link network_of(const Accelerator& accelerator, const Reach& reach);

// A host by name, with its usual number of devices, and the network beside it. Processors are among them: raspberry-pi-4,
// raspberry-pi-5, cloud-2-cores. ConfigError for another name, with the nearest.
struct Profile {
  Host host;
  Link network;
};
Profile find_profile(const std::string& name);
std::vector<std::string> profile_names();
// Where its rates are from, in both languages where Troika says so; else as its file has it.
base::Text source_of(const Host& host);

// Of accelerators alone, in the order in which they are listed.
const Accelerator& find_accelerator(const std::string& name, const std::string& flag);
std::vector<std::string> accelerator_names();
// The one that a driver calls so ("NVIDIA H100 80GB HBM3"); null: none is known by that name.
const Accelerator* accelerator_called(const std::string& model);

}  // namespace troika::machine
