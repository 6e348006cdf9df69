// What this machine can do at best: the yardstick beside which measured operations stand.
#pragma once

#include "tensor/tensor.h"

namespace troika::bench {

struct MachineRates {
  double gemm_flops_per_second = 0;   // product of 2048 x 1024 by 1024 x 3072
  double triad_bytes_per_second = 0;  // a = b + s c over 3 x 64 MiB, 12 bytes per element. J. McCalpin, "STREAM", 1995
};

// The product is that of `operands` with sums in fp32; of fp32 where that is what multiplies them. With as many threads
// as tensor::set_threads allows, medians of `seconds` each; takes 250 MiB.
MachineRates measure_rates(tensor::Dtype operands, double seconds);

MachineRates better(const MachineRates& a, const MachineRates& b);  // of each

}  // namespace troika::bench
