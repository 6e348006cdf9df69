// An accelerator whose memory is the host's and that does everything at once: kernels one thread after the other, products by
// loops. For tests of what runs on devices. Copies and the other small operations are those of module gpu. As on a GPU the host
// can't read or write a device's memory: that ends the process by a signal, except while some operation of the accelerator runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "gpu/operations.h"

namespace troika::gpu {

class HostAccelerator : public DeviceOperations {
 public:
  explicit HostAccelerator(int devices = 1);
  ~HostAccelerator() override;
  int devices() const override { return devices_; }
  tensor::GpuTraits traits(const tensor::Device&) override { return {"a host", 0, 0, 1, 0, "", ""}; }
  std::int64_t free_bytes(const tensor::Device&) override { return std::int64_t{1} << 30; }
  tensor::PoolBytes memory(const tensor::Device&) override { return {}; }
  void begin_peaks(const tensor::Device&) override {}
  std::shared_ptr<tensor::Memory> allocate(std::size_t bytes, const tensor::Device& device) override;
  std::unique_ptr<tensor::Streams> make_streams(const tensor::Device& device) override;
  void synchronize(const tensor::Device&) override {}
  void launch(const tensor::Device& device, const tensor::KernelCall& call) override;
  void multiply(const tensor::Tensor& a, const tensor::Tensor& b, const tensor::Tensor& out, const tensor::Tensor& bias,
                const tensor::Tensor& plus) override;
  using DeviceOperations::multiply;
  base::Text attention_lacks(const tensor::AttentionOperands&) override { return base::verbatim("a host has no library for it"); }

  std::int64_t launches() const { return launches_; }
  std::int64_t products() const { return products_; }
  std::int64_t crossings() const { return crossings_; }  // copies from the host or to it

  // The devices' memory, which is open while there is an Open.
  class Room;
  class Open {
   public:
    explicit Open(Room& room);
    ~Open();
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    Room& room_;
  };

 protected:
  void copy_bytes(const tensor::Tensor& to, const tensor::Tensor& from) override;

 private:
  const int devices_;
  const std::shared_ptr<Room> room_;
  std::atomic<std::int64_t> launches_{0}, products_{0}, crossings_{0};
};

}  // namespace troika::gpu
