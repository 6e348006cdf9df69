// What a GPU is and has: by what its libraries choose their code and cut their sums, and its free memory.
#pragma once

#include <cstdint>
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
std::string describe(const Device& device);

// Of a GPU, as CUDA sees it once libtorch has given back what it keeps for later. BugError when it does not answer, or the device is none.
std::int64_t free_bytes(const Device& device);

// Products of halves add in fp32, also where cuBLAS cuts a sum into parts, from now on in this process. Nothing on a CPU.
void add_halves_in_fp32(const Device& device);

// Whether libtorch tries kernels for a product and takes the fastest (its TunableOp, PYTORCH_TUNABLEOP_ENABLED).
enum class ByTime { no, yes };
ByTime chooses_products_by_time(const Device& device);

}  // namespace troika::tensor
