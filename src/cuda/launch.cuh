// Kernels (block.h) on a GPU. Included by .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>
#include <string>

#include "base/error.h"
#include "cuda/block.h"
#include "cuda/stream.h"

namespace troika::cuda {

class DeviceBlock {
 public:
  TROIKA_DEVICE std::int64_t index() const { return blockIdx.x; }
  TROIKA_DEVICE int thread() const { return static_cast<int>(threadIdx.x); }
  TROIKA_DEVICE void barrier() const { __syncthreads(); }
  template <class T>
  TROIKA_DEVICE T from_lane_xor(T x, int mask) const {
    return __shfl_xor_sync(0xffffffffu, x, mask);
  }
  TROIKA_DEVICE void raise(std::uint32_t* to, std::uint32_t x) const { atomicMax(to, x); }
};

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads) run(const Kernel kernel) {
  __shared__ typename Kernel::Shared shared;
  kernel(DeviceBlock(), shared);
}

// Queues the kernel. The error that the runtime reports may be of earlier work.
template <class Kernel>
void launch(const Kernel& kernel, const Stream& stream) {
  const std::int64_t blocks = kernel.blocks();
  if (blocks == 0) return;
  if (blocks > std::numeric_limits<std::int32_t>::max()) {
    throw base::BugError("a CUDA kernel has " + std::to_string(blocks) + " blocks; a grid has at most 2147483647");
  }
  run<Kernel><<<static_cast<unsigned>(blocks), Kernel::threads, 0, static_cast<cudaStream_t>(stream.handle)>>>(kernel);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) throw base::BugError(std::string("CUDA: ") + cudaGetErrorString(error));
}

// What dispatch.h's functions give their kernels to.
struct OnStream {
  const Stream& stream;
  template <class Kernel>
  void operator()(const Kernel& kernel) const {
    launch(kernel, stream);
  }
};

}  // namespace troika::cuda
