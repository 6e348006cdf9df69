// Properties of a GPU: those by which its libraries choose code and split sums, and its free memory.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/memory.h"

namespace troika::tensor {

struct GpuTraits {
  std::string name;          // "NVIDIA H200"
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  int driver = 0;      // the CUDA that the driver is for, as it counts: 13000
  std::string cublas;  // "13.1.0", or empty if the library does not report it
  std::string cudnn;   // "9.28.0", or empty where none is loaded
};

// "NVIDIA H200, compute capability 9.0, 132 multiprocessors, driver for CUDA 13.0, cuBLAS 13.1.0"
std::string describe(const GpuTraits& gpu);

std::string describe(const Device& device);      // that of a GPU, or "cpu"
std::int64_t free_bytes(const Device& device);  // of a GPU

}  // namespace troika::tensor
