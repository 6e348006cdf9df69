// The resources that a rank computes with: threads, and a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/memory.h"
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

// Properties of a GPU: those by which its libraries choose code and split sums, and its free memory.
struct GpuTraits {
  std::string name;          // "NVIDIA H200"
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  int driver = 0;      // the CUDA that the driver is for, as it counts: 13000
  std::string cublas;  // "13.1.0", or empty if the library does not report it
  std::string cudnn;   // "9.28.0", or empty where none is loaded
};

// "NVIDIA H200, compute capability 9.0, 132 multiprocessors, driver for CUDA 13.0, cuBLAS 13.1.0"
base::Text describe(const GpuTraits& gpu);

base::Text describe(const Device& device);     // that of a GPU, or "cpu"
std::int64_t free_bytes(const Device& device);  // of a GPU

}  // namespace troika::tensor
