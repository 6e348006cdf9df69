// Device code: nvcc makes an entry of every kernel. Nothing of the host's part is used.
#include "cuda/every_kernel.h"

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
  TROIKA_DEVICE void add(std::uint32_t* to, std::uint32_t x) const { atomicAdd(to, x); }
};

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads) troika_kernel(const __grid_constant__ Kernel kernel) {  // dispatch.h names it
  __shared__ typename Kernel::Shared shared;
  kernel(DeviceBlock(), shared);
}

struct Instantiate {
  template <class Kernel>
  void operator()(const Kernel& kernel) const {
    troika_kernel<<<1, Kernel::threads>>>(kernel);
  }
};

void instantiate() { troika::cuda::every_kernel(Instantiate()); }
