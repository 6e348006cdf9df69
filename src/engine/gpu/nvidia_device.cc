#include "gpu/nvidia_device.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "tensor/memory.h"

namespace troika::gpu {
namespace {

constexpr std::size_t blas_workspace_bytes = std::size_t{32} << 20;  // what cuBLAS itself takes on Hopper

class DeviceEvent final : public tensor::Event::Body {
 public:
  DeviceEvent(const NvidiaDevice& device, StreamHandle* stream, unsigned flags) : device_(device) {
    const Driver& driver = device.driver();
    device.select();
    driver.check(driver.make_event(&event_, flags), "an event");
    driver.check(driver.record(event_, stream), "an event");
  }
  ~DeviceEvent() override { device_.driver().end_event(event_); }
  bool passed() override {
    device_.select();
    const Result result = device_.driver().query(event_);
    if (result == Result::not_ready) return false;
    device_.driver().check(result, "what was queued before");
    return true;
  }
  EventHandle* handle() const { return event_; }

 private:
  const NvidiaDevice& device_;
  EventHandle* event_ = nullptr;
};

EventHandle* handle_of(const tensor::Event& event) { return static_cast<const DeviceEvent&>(*event.body()).handle(); }

std::int64_t kept_bytes(const Driver& driver, PoolHandle* pool, PoolAttribute attribute) {
  std::uint64_t bytes = 0;
  driver.check(driver.ask_pool(pool, attribute, &bytes), "its pool of memory");
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

struct NvidiaDevice::FreeHostMemory {
  void* data;
  tensor::Event unused;
};

class PinnedMemory final : public tensor::Memory {
 public:
  PinnedMemory(NvidiaDevice& owner, void* data, std::size_t bytes, std::size_t taken)
      : Memory(data, bytes, tensor::Device()), owner_(owner), taken_(taken) {}
  ~PinnedMemory() override { owner_.release_host(data(), taken_); }

 private:
  NvidiaDevice& owner_;
  const std::size_t taken_;
};

machine::Capability capability_of(const Driver& driver, int number) {
  DeviceNumber ordinal = 0;
  driver.check(driver.device(&ordinal, number), "its number");
  machine::Capability capability;
  driver.check(driver.device_attribute(&capability.major, DeviceAttribute::capability_major, ordinal), "an attribute");
  driver.check(driver.device_attribute(&capability.minor, DeviceAttribute::capability_minor, ordinal), "an attribute");
  return capability;
}

NvidiaDevice::NvidiaDevice(std::shared_ptr<const Driver> driver, int number, const tensor::Device& device,
                           const std::vector<DeviceCode>& code, std::shared_ptr<const BlasApi> blas,
                           std::shared_ptr<const CudnnApi> cudnn, std::int64_t flash_bytes)
    : driver_(std::move(driver)), device_(device), blas_api_(std::move(blas)), cudnn_api_(std::move(cudnn)),
      flash_bytes_(flash_bytes) {
  DeviceNumber ordinal = 0;
  driver_->check(driver_->device(&ordinal, number), "its number");
  std::array<char, 256> name{};
  driver_->check(driver_->device_name(name.data(), static_cast<int>(name.size()) - 1, ordinal), "its name");
  traits_.name = name.data();
  const auto attribute = [&](DeviceAttribute which) {
    int value = 0;
    driver_->check(driver_->device_attribute(&value, which, ordinal), "an attribute");
    return value;
  };
  const machine::Capability capability = capability_of(*driver_, number);
  traits_.major = capability.major;
  traits_.minor = capability.minor;
  traits_.multiprocessors = attribute(DeviceAttribute::multiprocessors);
  traits_.driver = driver_->version;
  traits_.cublas = blas_version(*blas_api_);
  if (cudnn_api_ != nullptr) traits_.cudnn = cudnn_version(*cudnn_api_);
  const DeviceCode* const fits = code_for(code, 10 * traits_.major + traits_.minor);
  if (fits == nullptr)
    throw base::ConfigError(base::say("this build has no kernels for compute capability {}, which {} ({}) has; use --device cpu", machine::to_text(capability), name_of(device_), traits_.name));
  if (attribute(DeviceAttribute::memory_pools) == 0)
    throw base::ConfigError(base::say("the driver has no memory pool for {} ({}); use --device cpu", name_of(device_), traits_.name));
  driver_->check(driver_->retain_context(&context_, ordinal), "its start");
  select();
  driver_->check(driver_->default_pool(&pool_, ordinal), "its pool of memory");
  std::uint64_t keeps = std::numeric_limits<std::uint64_t>::max();
  driver_->check(driver_->set_pool(pool_, PoolAttribute::release_threshold, &keeps), "its pool of memory");
  compute_ = new_stream();
  const Result loaded = driver_->load_module(&module_, fits->image().c_str(), 0, nullptr, nullptr);
  driver_->check(loaded, "loading the kernels");
}

void NvidiaDevice::select() const { driver_->check(driver_->set_context(context_), "its context"); }

std::int64_t NvidiaDevice::free_bytes() const {
  select();
  std::size_t free = 0, total = 0;
  driver_->check(driver_->free_memory(&free, &total), "its free memory");
  return static_cast<std::int64_t>(free) + kept_bytes(*driver_, pool_, PoolAttribute::reserved_now) -
         kept_bytes(*driver_, pool_, PoolAttribute::used_now);
}

tensor::PoolBytes NvidiaDevice::memory() const {
  const auto bytes = [this](PoolAttribute attribute) { return kept_bytes(*driver_, pool_, attribute); };
  return {bytes(PoolAttribute::used_now), bytes(PoolAttribute::used_peak), bytes(PoolAttribute::reserved_now),
          bytes(PoolAttribute::reserved_peak)};
}

void NvidiaDevice::give_back() const {
  await(record(compute_));
  driver_->check(driver_->trim_pool(pool_, 0), "its pool of memory");
}

void NvidiaDevice::begin_peaks() const {
  select();
  give_back();
  for (const PoolAttribute peak : {PoolAttribute::used_peak, PoolAttribute::reserved_peak}) {
    std::uint64_t none = 0;
    driver_->check(driver_->set_pool(pool_, peak, &none), "its pool of memory");
  }
}

// Memory that the pool keeps in pieces that are too small goes back to the device before the second try.
DevicePointer NvidiaDevice::allocate(std::size_t bytes) {
  select();
  DevicePointer pointer = 0;
  Result result = driver_->allocate(&pointer, bytes, pool_, compute_);
  if (result == Result::out_of_memory) {
    give_back();
    result = driver_->allocate(&pointer, bytes, pool_, compute_);
  }
  if (result == Result::out_of_memory) throw tensor::OutOfMemory(bytes, device_);
  driver_->check(result, "an allocation");
  return pointer;
}

// A device that has failed tells so at the next call that can throw.
void NvidiaDevice::release(DevicePointer pointer) noexcept {
  if (driver_->set_context(context_) == Result::success) driver_->release(pointer, compute_);
}

FunctionHandle* NvidiaDevice::function_of(const char* entry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  FunctionHandle*& function = functions_[entry];
  if (function == nullptr) driver_->check(driver_->module_function(&function, module_, entry), entry);
  return function;
}

void NvidiaDevice::launch(const tensor::KernelCall& call) {
  if (call.blocks > std::numeric_limits<std::int32_t>::max())
    throw base::BugError(fmt::format("a kernel of {} blocks; a grid has at most 2147483647", call.blocks));
  select();
  void* arguments[] = {const_cast<void*>(call.argument)};
  driver_->check(driver_->launch(function_of(call.entry), static_cast<unsigned>(call.blocks), 1, 1,
                                 static_cast<unsigned>(call.threads), 1, 1, 0, compute_, arguments, nullptr),
                 call.entry);
}

Blas& NvidiaDevice::blas() {
  select();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (blas_ == nullptr) blas_ = std::make_unique<Blas>(blas_api_, tensor::allocate(blas_workspace_bytes, device_));
  return *blas_;
}

void NvidiaDevice::multiply(const tensor::Tensor& a, const tensor::Tensor& b, const tensor::Tensor& out,
                            const tensor::Tensor& bias, const tensor::Tensor& plus) {
  blas().multiply(a, b, out, bias, plus, compute_);
}

std::string NvidiaDevice::product_prefix() const { return fmt::format("{}, cuBLASLt {}: ", traits_.name, traits_.cublas); }

std::size_t NvidiaDevice::use_products(const std::vector<tensor::ProductChoice>& choices) {
  const std::string prefix = product_prefix();
  std::map<std::string, std::string> ours;
  for (const tensor::ProductChoice& one : choices)
    if (one.kind.rfind(prefix, 0) == 0) ours[one.kind.substr(prefix.size())] = one.algorithm;
  const std::size_t count = ours.size();
  blas().use(std::move(ours));
  return count;
}

std::vector<tensor::ProductChoice> NvidiaDevice::measure_products(const std::function<void()>& passes) {
  const auto in_use = blas().measure([this](const std::function<void()>& work) { return seconds_of(work); }, passes);
  std::vector<tensor::ProductChoice> choices;
  for (const auto& [kind, algorithm] : in_use) choices.push_back({product_prefix() + kind, algorithm});
  return choices;
}

Cudnn* NvidiaDevice::cudnn() {
  select();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (cudnn_ == nullptr && cudnn_api_ != nullptr)
    cudnn_ = std::make_unique<Cudnn>(cudnn_api_, 10 * traits_.major + traits_.minor, compute_, flash_bytes_);
  return cudnn_.get();
}

void NvidiaDevice::copy(void* to, const void* from, std::size_t bytes, StreamHandle* stream) const {
  if (bytes == 0) return;
  select();
  driver_->check(driver_->copy(reinterpret_cast<DevicePointer>(to), reinterpret_cast<DevicePointer>(from), bytes, stream), "a copy");
}

StreamHandle* NvidiaDevice::new_stream() const {
  select();
  StreamHandle* stream = nullptr;
  driver_->check(driver_->make_stream(&stream, stream_of_its_own), "a stream");
  return stream;
}

tensor::Event NvidiaDevice::record(StreamHandle* stream, tensor::Timed timed) const {
  return tensor::Event(std::make_shared<DeviceEvent>(*this, stream, timed == tensor::Timed::yes ? 0 : event_without_time));
}

void NvidiaDevice::wait(StreamHandle* stream, const tensor::Event& event) const {
  if (event.body() == nullptr) return;
  select();
  driver_->check(driver_->stream_waits(stream, handle_of(event), 0), "an order of streams");
}

double NvidiaDevice::seconds_of(const std::function<void()>& work) const {
  const tensor::Event begin = record(compute_, tensor::Timed::yes);
  work();
  const tensor::Event end = record(compute_, tensor::Timed::yes);
  await(end);
  return elapsed_seconds(begin, end);
}

double NvidiaDevice::elapsed_seconds(const tensor::Event& begin, const tensor::Event& end) const {
  float milliseconds = 0;
  select();
  driver_->check(driver_->elapsed(&milliseconds, handle_of(begin), handle_of(end)), "a time");
  return static_cast<double>(milliseconds) / 1000;
}

void NvidiaDevice::await(const tensor::Event& event) const {
  tensor::await(event, [] {});
}

std::shared_ptr<tensor::Memory> NvidiaDevice::allocate_host(std::size_t bytes) {
  select();
  const std::size_t taken = std::max<std::size_t>(64, (bytes + 4095) / 4096 * 4096);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto [at, end] = free_host_.equal_range(taken); at != end; ++at) {
      if (!at->second.unused.passed()) continue;
      void* const data = at->second.data;
      free_host_.erase(at);
      return std::make_shared<PinnedMemory>(*this, data, bytes, taken);
    }
  }
  void* data = nullptr;
  const Result result = driver_->allocate_host(&data, taken, 0);
  if (result == Result::out_of_memory) throw tensor::OutOfMemory(bytes, tensor::Device());
  driver_->check(result, "host memory that it reads");
  return std::make_shared<PinnedMemory>(*this, data, bytes, taken);
}

void NvidiaDevice::release_host(void* data, std::size_t bytes) noexcept {
  try {
    const tensor::Event unused = record(compute_);
    const std::lock_guard<std::mutex> lock(mutex_);
    free_host_.emplace(bytes, FreeHostMemory{data, unused});
  } catch (const base::Error&) {  // of a device that has failed nothing is used again
  }
}

}  // namespace troika::gpu
