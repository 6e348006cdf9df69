// Measuring how long something takes.
#pragma once

#include <functional>

#include "tensor/streams.h"
#include "tensor/tensor.h"

namespace troika::bench {

// Runs `work` once to warm up, then until `seconds` have passed and at least once; the median.
double median_seconds(const std::function<void()>& work, double seconds);

// Since this process started, the loading of the program included. To a hundredth of a second.
double seconds_since_process_start();

// The best this machine can do: the yardstick for measured operations.
struct MachineRates {
  double gemm_flops_per_second = 0;   // product of 2048 x 1024 by 1024 x 3072
  double triad_bytes_per_second = 0;  // a = b + s c over 3 x 64 MiB, 12 bytes per element. J. McCalpin, "STREAM", 1995
};

// The product is that of `operands` with sums in fp32; of fp32 where that is what multiplies them. With as many threads
// as tensor::set_threads allows, medians of `seconds` each; takes 250 MiB.
MachineRates measure_rates(tensor::Dtype operands, double seconds);

MachineRates better(const MachineRates& a, const MachineRates& b);  // of each

// The time of one call: between two points of the compute lane, and until the host has queued it.
struct CallTime {
  double seconds = 0, host_seconds = 0;
};

// Calls `work`, which queues on the compute lane, once to warm up; then 20 times between two points, again and again until
// `seconds` have passed and at least once; medians. Where the host takes longer to queue a call than the device to do it, both
// are the host's.
CallTime time_on_device(tensor::Streams& streams, const std::function<void()>& work, double seconds);

// The best the device can do: the product of square matrices of `operands` with 8192 rows, or with as many as fit into its
// memory and take no more than a second for all calls; a += b of arrays of 2 GiB, or less likewise, or the driver's copy of one,
// whichever moves faster.
MachineRates measure_rates(tensor::Streams& streams, tensor::Dtype operands, double seconds);

}  // namespace troika::bench
