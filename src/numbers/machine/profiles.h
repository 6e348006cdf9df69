// Devices by name, for plans of machines that are not at hand. Numbers of data sheets, measurements that others published, and
// the shares of them that a training reaches: fitted on published rows of other programs than Troika.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"
#include "machine/accelerators.h"
#include "machine/cluster.h"

namespace troika::machine {

// The speed that trainings reach, as shares: the constants of all accelerators.
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
// Where its rates are from, and how many runs corrected them.
base::Text source_of(const Host& host);
// From the words of a file, about a host with this device: those that to_yaml writes, or its own.
Source source_called(const std::string& words, const std::string& device);

}  // namespace troika::machine
