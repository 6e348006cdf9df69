// Runs kernels of tests (cuda/test_runner_test_support.h) on a device: the memory that their pointers may reach is
// mirrored on the device.
#pragma once

#include <map>
#include <set>

#include "cuda/test_runner_test_support.h"
#include "tensor/tensor.h"

namespace troika::gpu {

// A word of a kernel's argument that lies in a buffer is a pointer into it.
class DeviceRunner final : public cuda::TestRunner {
 public:
  explicit DeviceRunner(const tensor::Device& device) : device_(device) {}
  void watch(void* data, std::size_t bytes, const std::set<std::size_t>* pages) override;
  void forget(void* data) override;
  int run(const cuda::TestKernel& kernel) override;
  bool plants_faults() const override { return false; }
  std::int64_t free_bytes() const override;
  const tensor::Device& device() const { return device_; }

 private:
  struct Mirror {
    std::size_t bytes = 0;
    const std::set<std::size_t>* pages = nullptr;
    tensor::Tensor there;  // made at its first use; zeros where no page is copied
  };
  using Mirrors = std::map<std::uintptr_t, Mirror>;  // by where the buffer begins
  enum class Way { to_device, to_host };
  void copy(const Mirrors::value_type& mirror, Way way) const;

  const tensor::Device device_;
  Mirrors mirrors_;
};

}  // namespace troika::gpu
