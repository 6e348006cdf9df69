// The NVIDIA GPUs that this process can use, by the driver, cuBLASLt and, where it is, cuDNN.
//
// Memory is taken from the driver's pool in the order of a device's compute lane, and goes back in that order, so whoever frees a
// tensor while work on it is queued keeps no one waiting. The calling thread is given the device's context by every function here
// that needs it, whichever thread it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shape/gpu_chunks.h"
#include "gpu/blas.h"
#include "gpu/library.h"
#include "gpu/driver.h"
#include "gpu/operations.h"
#include "machine/accelerators.h"

namespace troika::gpu {

class NvidiaDevice;

struct NvidiaParts {
  std::string driver = usual_driver;
  std::string blas;                // the library's path or name; empty: found where library_folders() says
  std::vector<DeviceCode> code;    // empty: ConfigError, as this build has none
  std::string cudnn = {};          // as `blas`; where it is missing or too old attention is by products
  std::int64_t flash_bytes = shape::most_flash_bytes;  // of gradients of scores that exist at a time in attention by cuDNN
};

class Nvidia final : public DeviceOperations {
 public:
  // ConfigError: a driver, library or device is missing or too old; the sentence names it with what would be enough.
  explicit Nvidia(NvidiaParts parts);
  ~Nvidia() override;

  int devices() const override;
  machine::Capability capability(int number) const;  // of a device that need not be one that runs the kernels
  tensor::GpuTraits traits(const tensor::Device& device) override;
  std::int64_t free_bytes(const tensor::Device& device) override;
  tensor::PoolBytes memory(const tensor::Device& device) override;
  void begin_peaks(const tensor::Device& device) override;
  std::shared_ptr<tensor::Memory> allocate(std::size_t bytes, const tensor::Device& device) override;
  std::unique_ptr<tensor::Streams> make_streams(const tensor::Device& device) override;
  void synchronize(const tensor::Device& device) override;
  void launch(const tensor::Device& device, const tensor::KernelCall& call) override;
  void multiply(const tensor::Tensor& a, const tensor::Tensor& b, const tensor::Tensor& out, const tensor::Tensor& bias,
                const tensor::Tensor& plus) override;
  using DeviceOperations::multiply;
  bool attend(const tensor::AttentionOperands& of, const tensor::Tensor& out, const tensor::Tensor& lse) override;
  bool attend_backward(const tensor::AttentionOperands& of, const tensor::Tensor& dout, const tensor::Tensor& out,
                       const tensor::Tensor& lse, const tensor::Tensor& dq, const tensor::Tensor& dk,
                       const tensor::Tensor& dv) override;
  base::Text attention_lacks(const tensor::AttentionOperands& of) override;
  void set_repeatable(tensor::Repeatable repeatable) override;
  std::size_t use_products(const tensor::Device& device, const std::vector<tensor::ProductChoice>& choices) override;
  std::vector<tensor::ProductChoice> measure_products(const tensor::Device& device, const std::function<void()>& passes) override;

 protected:
  void copy_bytes(const tensor::Tensor& to, const tensor::Tensor& from) override;

 private:
  NvidiaDevice& of(const tensor::Device& device);  // opened at its first use

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::gpu
