#include "plan/device_rates.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "machine/profiles.h"

namespace troika::plan {

// Rates from the accelerators' data sheets. Measured on an H200: a copy of a large array, and products of 8192 x 8192
// matrices by cuBLAS, which ran at 770 to 800.
const std::vector<DeviceRates>& all_device_rates() {
  static const std::vector<DeviceRates> rates = [] {
    std::vector<DeviceRates> all{{"h200", 790e12, 4.3e12, "measured: cuBLAS product of 8192^3, copy"}};
    for (const machine::Accelerator& a : machine::accelerators())
      all.push_back({a.name == "h200" ? "h200-sheet" : a.name, a.half_sheet * 1e12, a.memory_gigabytes * 1e9,
                     "data sheet, dense"});
    return all;
  }();
  return rates;
}

std::vector<std::string> device_rate_names() {
  std::vector<std::string> names;
  for (const DeviceRates& rates : all_device_rates()) names.push_back(rates.name);
  return names;
}

DeviceRates find_device_rates(const std::string& name) {
  const machine::Accelerator* const known = machine::accelerator_called(name);
  for (const DeviceRates& rates : all_device_rates()) {
    if (rates.name == (known == nullptr ? name : known->name)) return rates;
  }
  const std::string near = base::nearest(name, device_rate_names());
  throw base::ConfigError(base::say("--device-rates {} is unknown ({}); for another device give --tflops and --terabytes", name,
                                    near.empty() ? base::say("the names are {}", base::join(device_rate_names(), ", "))
                                                 : base::say("did you mean {}?", near)));
}

BoundTime bound_time(const shape::Work& work, const DeviceRates& rates) {
  const double products = work.flops / rates.flops_per_second, memory = work.bytes / rates.bytes_per_second;
  return products > memory ? BoundTime{products, Bound::products} : BoundTime{memory, Bound::memory};
}

}  // namespace troika::plan
