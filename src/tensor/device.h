// Devices: which device, how many threads.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace troika::tensor {

int cuda_devices();  // of this machine that this build can use: it has no CUDA back end, so none

// "auto" (cuda when present, else cpu), "cpu", "cuda" or "cuda:N". On "cuda" and "auto" the device index is local_rank modulo the
// devices present. ConfigError for another word, and when cuda is asked for and this build has no back end for it.
Device pick_device(const std::string& word, int local_rank);

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
