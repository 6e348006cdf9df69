// The small operations on tensors of a device, by the kernels of module cuda.
#pragma once

#include "cuda/dispatch.h"
#include "tensor/accelerator.h"
#include "tensor/tensor.h"

namespace troika::gpu {

class DeviceOperations : public tensor::Accelerator {
 public:
  void copy(const tensor::Tensor& to, const tensor::Tensor& from) override;
  void fill(const tensor::Tensor& x, double value) override;
  void add(const tensor::Tensor& sum, const tensor::Tensor& x, double scale) override;
  void multiply(const tensor::Tensor& x, double factor) override;
  using Accelerator::multiply;
  void gather_rows(const tensor::Tensor& to, const tensor::Tensor& from, const tensor::Tensor& index_r) override;
  void scatter_rows(const tensor::Tensor& to, const tensor::Tensor& index_r, const tensor::Tensor& from) override;
  void add_rows(const tensor::Tensor& sum, const tensor::Tensor& index_r, const tensor::Tensor& x) override;

 protected:
  // Copies between contiguous tensors of one dtype and size; at least one is on a device. A copy to the host returns
  // when it is done.
  virtual void copy_bytes(const tensor::Tensor& to, const tensor::Tensor& from) = 0;
};

// Gives kernels of module cuda to the device of a tensor: the argument `run` of the functions in cuda/*_dispatch.h.
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
