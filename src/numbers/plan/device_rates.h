// The FLOPs and bytes per second of a device, and the lower bound of an operation's time on it.
#pragma once

#include <string>
#include <vector>

#include "shape/operation_costs.h"

namespace troika::plan {

struct DeviceRates {
  std::string name;
  double flops_per_second = 0;  // of dense matrix products in bf16 with fp32 sums
  double bytes_per_second = 0;  // of reading and writing the device's memory
  std::string source;           // what kind of number they are
};

// The named devices, in the order in which they are listed; accelerators in any spelling (machine/accelerators.h). ConfigError for
// another name, with the nearest.
const std::vector<DeviceRates>& all_device_rates();
DeviceRates find_device_rates(const std::string& name);
std::vector<std::string> device_rate_names();

enum class Bound { memory, products };
struct BoundTime {
  double seconds = 0;
  Bound by = Bound::memory;
};
// The longer of multiplying and moving: S. Williams et al., "Roofline", 2009.
BoundTime bound_time(const shape::Work& work, const DeviceRates& rates);

}  // namespace troika::plan
