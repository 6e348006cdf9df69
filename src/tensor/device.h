// Devices: which device, how much memory, how many threads, and what differs between libtorch versions.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace troika::tensor {

// What this build can do on a GPU: a libtorch without CUDA; one with it, without or with the kernels of module cuda.
enum class CudaBuild { cpu_libtorch, without_kernels, with_kernels };
CudaBuild cuda_build();
int cuda_devices();  // that libtorch finds; starts CUDA's driver

// "auto" (cuda when present, else cpu), "cpu", "cuda" or "cuda:N". On "cuda" and "auto" the device index is local_rank modulo the devices
// present. ConfigError for another word, and when cuda is asked for and this libtorch or machine has none.
Device pick_device(const std::string& word, int local_rank);

// Threads that operations of this rank may use: sets OpenMP's count (one pool for libtorch, oneDNN and module cpu) of the calling
// thread, and OpenBLAS's, which is 1.
void set_threads(int threads);

// The cores among which OpenMP was told to place its threads (OMP_PROC_BIND, OMP_PLACES), ascending; empty: it was not, and binds
// none.
std::vector<int> cores_of_openmp();

// The tensor itself for the CPU, else a copy of it, which lies on the host. The copy is queued on the current stream, and the
// thread does not wait for it.
Tensor to_device(const Tensor& host, const Device& device);

// Waits for everything queued on the device; nothing on CPU.
void synchronize(const Device& device);

std::string libtorch_version();

// Contiguous fp32 tensors.
Tensor empty_float(const Sizes& sizes, const Device& device);  // uninitialised
Tensor zeros_float(const Sizes& sizes, const Device& device);

}  // namespace troika::tensor
