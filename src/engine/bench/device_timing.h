// Measuring how long something takes on a device, by the device's own clock.
#pragma once

#include <functional>

#include "bench/machine_rates.h"
#include "tensor/streams.h"

namespace troika::bench {

// Of one call: between two points of the compute lane, and until the host has queued it.
struct CallTime {
  double seconds = 0, host_seconds = 0;
};

// Calls `work`, which queues on the compute lane, once to warm up; then 20 times between two points, again and again until
// `seconds` have passed and at least once; medians. Where the host takes longer to queue a call than the device to do it, both
// are the host's.
CallTime time_on_device(tensor::Streams& streams, const std::function<void()>& work, double seconds);

// What the device can do at best: the product of square matrices of `operands` with 8192 rows, or with as many as fit into its
// memory and take no more than a second for all calls; a += b of arrays of 2 GiB, or less likewise, or the driver's copy of one,
// whichever moves faster.
MachineRates measure_rates(tensor::Streams& streams, tensor::Dtype operands, double seconds);

}  // namespace troika::bench
