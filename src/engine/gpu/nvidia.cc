#include "gpu/nvidia.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "gpu/nvidia_device.h"

namespace troika::gpu {
using tensor::Device;
using tensor::Event;
using tensor::Lane;
using tensor::Tensor;

namespace {

// The lanes of a GPU, as one rank's thread uses them. The compute lane is the device's own, also of other ranks' streams; the thread that
// makes them gets its context.
class NvidiaStreams final : public tensor::Streams {
 public:
  explicit NvidiaStreams(NvidiaDevice& device) : one_(device), lanes_{device.compute()} {
    one_.select();
    new_lane();  // in_lane
    new_lane();  // out_lane
  }
  ~NvidiaStreams() override {
    try {
      one_.select();
    } catch (const base::Error&) {  // a device that has failed
      return;
    }
    for (std::size_t i = 1; i < lanes_.size(); ++i) one_.driver().end_stream(lanes_[i]);
  }
  const tensor::Device& device() const override { return one_.device(); }
  bool shares_host_memory() const override { return false; }
  Lane new_lane() override {
    lanes_.push_back(one_.new_stream());
    return Lane(static_cast<int>(lanes_.size()) - 1);
  }
  Event record(Lane lane, tensor::Timed timed) override { return one_.record(of(lane), timed); }
  double seconds_between(const Event& begin, const Event& end) override { return one_.elapsed_seconds(begin, end); }
  void wait(Lane lane, const Event& event) override { one_.wait(of(lane), event); }
  void copy(Lane lane, const Tensor& to, const Tensor& from) override {
    if (to.bytes() != from.bytes() || !to.is_contiguous() || !from.is_contiguous())
      throw base::BugError(fmt::format("a copy of {} bytes to room for {}", from.bytes(), to.bytes()));
    one_.copy(to.data(), from.data(), static_cast<std::size_t>(to.bytes()), of(lane));
  }
  Tensor new_host_tensor(const tensor::Sizes& sizes, tensor::Dtype dtype) override {
    const auto bytes = static_cast<std::size_t>(sizes.product() * base::bytes_of(dtype));
    return Tensor(one_.allocate_host(bytes), 0, dtype, {sizes.product()}, {1}).view(sizes);
  }
  void* handle(Lane lane) override { return of(lane); }

 private:
  StreamHandle* of(Lane lane) const { return lanes_.at(static_cast<std::size_t>(lane.number())); }

  NvidiaDevice& one_;
  std::vector<StreamHandle*> lanes_;  // compute_lane, in_lane, out_lane, others
};

class DeviceMemory final : public tensor::Memory {
 public:
  DeviceMemory(NvidiaDevice& owner, std::size_t bytes)
      : Memory(bytes == 0 ? nullptr : reinterpret_cast<void*>(owner.allocate(bytes)), bytes, owner.device()), owner_(owner) {}
  ~DeviceMemory() override {
    if (data() != nullptr) owner_.release(reinterpret_cast<DevicePointer>(data()));
  }

 private:
  NvidiaDevice& owner_;
};

std::string blas_of(const NvidiaParts& parts) {
  const std::string found = parts.blas.empty() ? find_library(library_folders(), blas_libraries) : parts.blas;
  if (found.empty()) throw base::ConfigError(base::say("cuBLASLt 12.4 or later is not found: neither libcublasLt.so.13 nor .12 is in an active Python environment, in /usr/local/cuda or on the dynamic linker's path; pip install nvidia-cublas (or nvidia-cublas-cu12), or add its folder to LD_LIBRARY_PATH"));
  return found;
}

// Null and `why` where there is none that can be used.
std::shared_ptr<const CudnnApi> cudnn_of(const NvidiaParts& parts, base::Text* why) {
  const std::string found = parts.cudnn.empty() ? find_library(library_folders(), cudnn_libraries) : parts.cudnn;
  *why = base::say("cuDNN 9.10.2 or later is not found: pip install nvidia-cudnn-cu13 (or nvidia-cudnn-cu12)");
  if (found.empty()) return nullptr;
  try {
    return load_cudnn(found);
  } catch (const base::ConfigError& error) {
    *why = base::text_of(error);
    return nullptr;
  }
}

}  // namespace

struct Nvidia::Impl {
  std::shared_ptr<const Driver> driver;
  std::shared_ptr<const BlasApi> blas;
  std::shared_ptr<const CudnnApi> cudnn;  // may be null
  base::Text without_cudnn;               // why it is
  std::int64_t flash_bytes = 0;
  std::vector<DeviceCode> code;
  std::atomic<tensor::Repeatable> repeatable{tensor::Repeatable::yes};
  int count = 0;
  std::mutex mutex;  // guards what follows
  std::vector<std::unique_ptr<NvidiaDevice>> opened;
};

Nvidia::Nvidia(NvidiaParts parts) : impl_(std::make_unique<Impl>()) {
  if (parts.code.empty()) throw base::ConfigError(base::say("this build has no kernels for GPUs"));
  impl_->driver = load_driver(parts.driver);
  impl_->driver->check(impl_->driver->device_count(&impl_->count), "counting the devices");
  if (impl_->count == 0) throw base::ConfigError(base::say("the NVIDIA driver of this machine reports 0 devices; check nvidia-smi and CUDA_VISIBLE_DEVICES"));
  impl_->blas = load_blas(blas_of(parts));
  impl_->cudnn = cudnn_of(parts, &impl_->without_cudnn);
  impl_->flash_bytes = parts.flash_bytes;
  impl_->code = std::move(parts.code);
  impl_->opened.resize(static_cast<std::size_t>(impl_->count));
}

Nvidia::~Nvidia() = default;

int Nvidia::devices() const { return impl_->count; }

machine::Capability Nvidia::capability(int number) const { return capability_of(*impl_->driver, number); }

NvidiaDevice& Nvidia::of(const Device& device) {
  if (device.index() < 0 || device.index() >= impl_->count)
    throw base::BugError(fmt::format("{} of {} devices", name_of(device), impl_->count));
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  std::unique_ptr<NvidiaDevice>& opened = impl_->opened[static_cast<std::size_t>(device.index())];
  if (opened == nullptr)
    opened = std::make_unique<NvidiaDevice>(impl_->driver, device.index(), device, impl_->code, impl_->blas, impl_->cudnn,
                                            impl_->flash_bytes);
  return *opened;
}

tensor::GpuTraits Nvidia::traits(const Device& device) { return of(device).traits(); }

std::int64_t Nvidia::free_bytes(const Device& device) { return of(device).free_bytes(); }

tensor::PoolBytes Nvidia::memory(const Device& device) { return of(device).memory(); }

void Nvidia::begin_peaks(const Device& device) { of(device).begin_peaks(); }

std::shared_ptr<tensor::Memory> Nvidia::allocate(std::size_t bytes, const Device& device) {
  return std::make_shared<DeviceMemory>(of(device), bytes);
}

std::unique_ptr<tensor::Streams> Nvidia::make_streams(const Device& device) { return std::make_unique<NvidiaStreams>(of(device)); }

void Nvidia::synchronize(const Device& device) {
  NvidiaDevice& one = of(device);
  one.await(one.record(one.compute()));
}

void Nvidia::launch(const Device& device, const tensor::KernelCall& call) { of(device).launch(call); }

void Nvidia::multiply(const Tensor& a, const Tensor& b, const Tensor& out, const Tensor& bias, const Tensor& plus) {
  of(out.device()).multiply(a, b, out, bias, plus);
}

bool Nvidia::attend(const tensor::AttentionOperands& of, const Tensor& out, const Tensor& lse) {
  Cudnn* const cudnn = this->of(out.device()).cudnn();
  return cudnn != nullptr && cudnn->attend(of, out, lse);
}

bool Nvidia::attend_backward(const tensor::AttentionOperands& of, const Tensor& dout, const Tensor& out, const Tensor& lse,
                             const Tensor& dq, const Tensor& dk, const Tensor& dv) {
  Cudnn* const cudnn = this->of(out.device()).cudnn();
  return cudnn != nullptr && cudnn->attend_backward(of, impl_->repeatable, dout, out, lse, dq, dk, dv);
}

base::Text Nvidia::attention_lacks(const tensor::AttentionOperands& of) {
  Cudnn* const cudnn = this->of(of.q_BTnH.device()).cudnn();
  return cudnn == nullptr ? impl_->without_cudnn : cudnn->lacks(of, impl_->repeatable);
}

void Nvidia::set_repeatable(tensor::Repeatable repeatable) { impl_->repeatable = repeatable; }

std::size_t Nvidia::use_products(const Device& device, const std::vector<tensor::ProductChoice>& choices) {
  return of(device).use_products(choices);
}

std::vector<tensor::ProductChoice> Nvidia::measure_products(const Device& device, const std::function<void()>& passes) {
  return of(device).measure_products(passes);
}

// From the host's ordinary memory the driver returns when it has read it.
void Nvidia::copy_bytes(const Tensor& to, const Tensor& from) {
  NvidiaDevice& one = of(to.is_cpu() ? from.device() : to.device());
  one.copy(to.data(), from.data(), static_cast<std::size_t>(to.bytes()), one.compute());
  if (to.is_cpu()) one.await(one.record(one.compute()));
}

}  // namespace troika::gpu
