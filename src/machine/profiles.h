// Devices by name, for plans of machines that are not at hand. Numbers of data sheets, measurements that others published, and
// a few shares of them that are reached in training: fitted on rows of published trainings, of other programs than Troika.
#pragma once

#include <string>
#include <vector>

#include "machine/cluster.h"

namespace troika::machine {

struct Profile {
  std::string name;         // "a100-80"
  std::string title;        // "NVIDIA A100 SXM, 80 GB"
  double memory_gigabytes;  // 10^9 bytes
  // TFLOP/s of dense products with fp32 sums: by the data sheet, and by a large product that somebody ran; 0: not known.
  double fp32_sheet, half_sheet, half_measured;
  bool has_bf16;
  double memory_gigabytes_per_second;
  double inside_gigabytes_per_second, inside_latency_seconds;  // NVLink or PCIe between two devices of a host, each way
  double network_gigabits_per_second;  // of a host, where the cluster's is not stated
  int devices_per_host;
};

// What training reaches of them: the constants of all accelerators.
struct Reach {
  double products = 1;        // of the measured product, or of 0.8 of the sheet's
  double product_bytes = 1;   // of the memory's rate
  double between = 1;         // of the memory's rate
  double inside = 1;          // of the link's rate
  double network = 1;
};
Reach fitted_reach();

const std::vector<Profile>& accelerator_profiles();

// A host of `profile` with so many devices. `reach`: fitted_reach but where it is fitted.
Host host_of(const Profile& profile, int devices, const Reach& reach);
Link network_of(const Profile& profile, const Reach& reach);

// Processors by name: raspberry-pi-4, raspberry-pi-5, cloud-2-cores.
std::vector<Host> processor_profiles();

std::vector<std::string> profile_names();
// Any name of profile_names, with its default number of devices. ConfigError for another, with the nearest.
Host find_host(const std::string& name);
Link find_network(const std::string& name);  // of that profile

// Rates of data sheets, for rooflines.

}  // namespace troika::machine
