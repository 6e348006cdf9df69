// Gives kernels of module cuda to the device of a tensor: the argument `run` of the functions in cuda/*_dispatch.h.
#pragma once

#include "cuda/entry.h"
#include "tensor/accelerator.h"
#include "tensor/tensor.h"

namespace troika::gpu {

class OnDevice {
 public:
  explicit OnDevice(const tensor::Tensor& x) : device_(x.device()) {}
  template <class Kernel>
  void operator()(const Kernel& kernel) const {
    static_assert(sizeof(Kernel) <= 4096, "what the argument of a kernel may have");
    if (kernel.blocks() > 0)
      device_.accelerator().launch(device_, {cuda::entry_of<Kernel>(), kernel.blocks(), Kernel::threads, &kernel});
  }

 private:
  const tensor::Device device_;
};

}  // namespace troika::gpu
