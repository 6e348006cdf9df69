// What a rank computes with: threads, and a device.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace troika::tensor {

// Threads that operations of this rank may use (cpu/parallel.h), of the calling thread.
void set_threads(int threads);
int threads();  // of the calling thread

// The cores among which OpenMP, which oneDNN brings, was told to place its threads (OMP_PROC_BIND, OMP_PLACES), ascending; empty: it was
// not, and binds none.
std::vector<int> cores_of_openmp();

// The tensor itself for the CPU, else a copy of it, which lies on the host. The copy is queued on the compute lane.
Tensor to_device(const Tensor& host, const Device& device);

// Waits for everything queued on the device; nothing on CPU.
void synchronize(const Device& device);

// Contiguous fp32 tensors.
Tensor empty_float(const Sizes& sizes, const Device& device);  // uninitialised
Tensor zeros_float(const Sizes& sizes, const Device& device);

}  // namespace troika::tensor
