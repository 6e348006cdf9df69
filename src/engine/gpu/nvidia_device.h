// One GPU: its context, its compute lane, its pool of memory, its code.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gpu/blas.h"
#include "gpu/cudnn.h"
#include "gpu/driver.h"
#include "gpu/library.h"
#include "machine/accelerators.h"
#include "tensor/accelerator.h"
#include "tensor/device.h"
#include "tensor/streams.h"

namespace troika::gpu {

machine::Capability capability_of(const Driver& driver, int number);

// Any thread. Calls that need the context give it to their thread.
class NvidiaDevice {
 public:
  // ConfigError where its compute capability has no code among `code`. `cudnn` may be null.
  NvidiaDevice(std::shared_ptr<const Driver> driver, int number, const tensor::Device& device,
               const std::vector<DeviceCode>& code, std::shared_ptr<const BlasApi> blas, std::shared_ptr<const CudnnApi> cudnn,
               std::int64_t flash_bytes);
  ~NvidiaDevice() = default;  // its context is the process's, and ends with it
  NvidiaDevice(const NvidiaDevice&) = delete;
  NvidiaDevice& operator=(const NvidiaDevice&) = delete;

  const Driver& driver() const { return *driver_; }
  const tensor::Device& device() const { return device_; }
  const tensor::GpuTraits& traits() const { return traits_; }
  StreamHandle* compute() const { return compute_; }

  // The calling thread's context becomes this device's.
  void select() const;

  std::int64_t free_bytes() const;  // of the device, with what the pool keeps
  tensor::PoolBytes memory() const;  // of the pool
  void begin_peaks() const;
  DevicePointer allocate(std::size_t bytes);  // OutOfMemory
  void release(DevicePointer pointer) noexcept;
  void launch(const tensor::KernelCall& call);
  void multiply(const tensor::Tensor& a, const tensor::Tensor& b, const tensor::Tensor& out, const tensor::Tensor& bias,
                const tensor::Tensor& plus);
  Cudnn* cudnn();  // made at its first use, null where there is none; the calling thread has the context
  std::size_t use_products(const std::vector<tensor::ProductChoice>& choices);
  std::vector<tensor::ProductChoice> measure_products(const std::function<void()>& passes);
  void copy(void* to, const void* from, std::size_t bytes, StreamHandle* stream) const;

  StreamHandle* new_stream() const;
  // All that was asked for there before. Timed: elapsed_seconds() tells what lies between two of them.
  tensor::Event record(StreamHandle* stream, tensor::Timed timed = tensor::Timed::no) const;
  void wait(StreamHandle* stream, const tensor::Event& event) const;
  double seconds_of(const std::function<void()>& work) const;  // in the compute lane; waits for it
  double elapsed_seconds(const tensor::Event& begin, const tensor::Event& end) const;  // both have passed
  void await(const tensor::Event& event) const;  // the host waits, asking again and again

  // Host memory that the device reads by itself; kept when it is released, and given out again once the device has passed what it
  // had been asked for by then.
  std::shared_ptr<tensor::Memory> allocate_host(std::size_t bytes);

 private:
  struct FreeHostMemory;
  void give_back() const;  // what the pool keeps and nobody uses, once the compute lane is idle
  FunctionHandle* function_of(const char* entry);
  Blas& blas();
  std::string product_prefix() const;  // of the kinds of products here
  void release_host(void* data, std::size_t bytes) noexcept;
  friend class PinnedMemory;

  const std::shared_ptr<const Driver> driver_;
  const tensor::Device device_;
  const std::shared_ptr<const BlasApi> blas_api_;
  const std::shared_ptr<const CudnnApi> cudnn_api_;
  const std::int64_t flash_bytes_;  // as in NvidiaParts
  tensor::GpuTraits traits_;
  ContextHandle* context_ = nullptr;
  PoolHandle* pool_ = nullptr;
  ModuleHandle* module_ = nullptr;
  StreamHandle* compute_ = nullptr;
  std::mutex mutex_;  // guards what follows
  std::map<const char*, FunctionHandle*> functions_;
  std::unique_ptr<Blas> blas_;
  std::unique_ptr<Cudnn> cudnn_;
  std::multimap<std::size_t, FreeHostMemory> free_host_;
};

}  // namespace troika::gpu
