// By what the libraries of a GPU choose their code and cut their sums.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace troika::tensor {

struct GpuTraits {
  std::string name;          // "NVIDIA H200"
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  int cuda = 0;        // the runtime's version, as it counts: 13000
  std::string cublas;  // "13.1.0", or empty where the library does not tell
};

// "NVIDIA H200, compute capability 9.0, 132 multiprocessors, CUDA 13.0, cuBLAS 13.1.0"
std::string describe(const GpuTraits& gpu);

// That of a GPU, or "cpu". BugError when CUDA does not answer.
std::string describe(const c10::Device& device);

}  // namespace troika::tensor
