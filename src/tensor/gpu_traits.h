// What a GPU is and has: by what its libraries choose their code and cut their sums, and its free memory.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/memory.h"

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

// That of a GPU as far as this build can tell, or "cpu".
std::string describe(const Device& device);

// Of a GPU. BugError when this build cannot tell.
std::int64_t free_bytes(const Device& device);

}  // namespace troika::tensor
