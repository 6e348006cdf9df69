// What `bench kernels` measured, as a table and as CSV.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"
#include "bench/machine_rates.h"

namespace troika::bench {

struct MeasuredOperation {
  std::string name, shape;
  std::int64_t calls = 0;       // in one step
  double flops = 0, bytes = 0;  // of one call
  double seconds = 0;           // of one call
  double host_seconds = 0;      // on a device: until the host has queued the call

  // At the machine's rates: the longer of computing and moving.
  double ideal_seconds(const MachineRates& rates) const;
};

// With the sum of a step.
std::string to_table(const std::vector<MeasuredOperation>& rows, const MachineRates& rates, base::Language language);
std::string to_csv(const std::vector<MeasuredOperation>& rows, const MachineRates& rates);
// Of a device: with the host's time and what each call moves and multiplies. `of` says whose rates they are.
std::string to_device_table(const std::vector<MeasuredOperation>& rows, const MachineRates& rates, const base::Text& of,
                            base::Language language);
std::string to_device_csv(const std::vector<MeasuredOperation>& rows, const MachineRates& rates);

}  // namespace troika::bench
