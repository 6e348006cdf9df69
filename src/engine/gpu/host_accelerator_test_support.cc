#include "gpu/host_accelerator_test_support.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "gpu/host_kernels_test_support.h"
#include "tensor/page_cache.h"
#include "tensor/streams.h"

namespace troika::gpu {
using tensor::Tensor;

// One stretch of addresses, so that one call opens or closes all of it.
class HostAccelerator::Room {
 public:
  Room() : begin_(::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (begin_ == MAP_FAILED) throw base::BugError("no addresses for the memory of a device");
    free_.add({address(begin_), reserved});
  }
  ~Room() { ::munmap(begin_, reserved); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  void* take(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    const tensor::Range range = free_.take(whole(bytes));
    if (range.bytes == 0) throw base::BugError("the memory of a device for tests is full");
    const std::size_t end = range.begin + range.bytes - address(begin_);
    if (end > used_) {
      used_ = end;
      if (opened_ > 0) protect(PROT_READ | PROT_WRITE);
    }
    return reinterpret_cast<void*>(range.begin);
  }
  void give_back(void* data, std::size_t bytes) {
    if (bytes == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.add({address(data), whole(bytes)});
  }
  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (opened_++ == 0) protect(PROT_READ | PROT_WRITE);
  }
  void close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--opened_ == 0) protect(PROT_NONE);
  }

 private:
  static constexpr std::size_t reserved = std::size_t{1} << 36, page = 4096;
  static std::uintptr_t address(const void* x) { return reinterpret_cast<std::uintptr_t>(x); }
  static std::size_t whole(std::size_t bytes) { return (bytes + page - 1) / page * page; }
  void protect(int access) {
    if (used_ > 0 && ::mprotect(begin_, used_, access) != 0) throw base::BugError("the memory of a device stays as it is");
  }

  void* const begin_;
  std::mutex mutex_;
  tensor::FreeRanges free_;
  std::size_t used_ = 0;
  int opened_ = 0;
};

HostAccelerator::Open::Open(Room& room) : room_(room) { room_.open(); }
HostAccelerator::Open::~Open() { room_.close(); }

namespace {
using Open = HostAccelerator::Open;
using Room = HostAccelerator::Room;

class DeviceMemory final : public tensor::Memory {
 public:
  DeviceMemory(std::shared_ptr<Room> room, std::size_t bytes, const tensor::Device& device)
      : Memory(room->take(bytes), bytes, device), room_(std::move(room)) {
    const Open open(*room_);
    if (bytes > 0) std::memset(data(), 0xff, bytes);
  }
  ~DeviceMemory() override { room_->give_back(data(), bytes()); }

 private:
  const std::shared_ptr<Room> room_;
};

// As host streams, of the device.
class DirectStreams final : public tensor::Streams {
 public:
  DirectStreams(std::shared_ptr<Room> room, const tensor::Device& device) : room_(std::move(room)), device_(device) {}
  const tensor::Device& device() const override { return device_; }
  bool shares_host_memory() const override { return false; }
  tensor::Lane new_lane() override { return tensor::Lane(next_++); }
  tensor::Event record(tensor::Lane lane, tensor::Timed timed) override { return clock_->record(lane, timed); }
  double seconds_between(const tensor::Event& begin, const tensor::Event& end) override {
    return clock_->seconds_between(begin, end);
  }
  void wait(tensor::Lane, const tensor::Event&) override {}
  void copy(tensor::Lane, const Tensor& to, const Tensor& from) override {
    const Open open(*room_);
    if (to.bytes() > 0) std::memcpy(to.data(), from.data(), static_cast<std::size_t>(to.bytes()));
  }
  Tensor new_host_tensor(const tensor::Sizes& sizes, tensor::Dtype dtype) override { return tensor::empty(sizes, dtype); }
  void* handle(tensor::Lane) override { return nullptr; }

 private:
  const std::shared_ptr<Room> room_;
  const tensor::Device device_;
  const std::unique_ptr<tensor::Streams> clock_ = tensor::make_host_streams();
  int next_ = 3;
};

// The same memory, as the host's.
Tensor on_host(const Tensor& x) {
  const auto& memory = *x.memory();
  return Tensor(std::make_shared<tensor::Memory>(memory.data(), memory.bytes(), tensor::Device()),
                static_cast<std::size_t>(static_cast<char*>(x.data()) - static_cast<char*>(memory.data())), x.dtype(),
                x.sizes(), x.strides());
}

// A matrix of a product, in fp64.
Tensor numbers(const Tensor& x, std::int64_t i) {
  return on_host(x.dims() == 3 ? x.select(0, i) : x).to(tensor::Dtype::fp64).contiguous();
}

}  // namespace

HostAccelerator::HostAccelerator(int devices) : devices_(devices), room_(std::make_shared<Room>()) {}
HostAccelerator::~HostAccelerator() = default;

std::shared_ptr<tensor::Memory> HostAccelerator::allocate(std::size_t bytes, const tensor::Device& device) {
  return std::make_shared<DeviceMemory>(room_, bytes, device);
}

std::unique_ptr<tensor::Streams> HostAccelerator::make_streams(const tensor::Device& device) {
  return std::make_unique<DirectStreams>(room_, device);
}

void HostAccelerator::launch(const tensor::Device&, const tensor::KernelCall& call) {
  const Open open(*room_);
  run_kernel_on_host(call, static_cast<std::uint64_t>(++launches_));
}

void HostAccelerator::multiply(const Tensor& a, const Tensor& b, const Tensor& out, const Tensor& bias, const Tensor& plus) {
  const Open open(*room_);
  ++products_;
  const std::int64_t count = out.dims() == 3 ? out.size(0) : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor x = numbers(a, i), y = numbers(b, i);
    const Tensor total = plus.defined() ? numbers(plus, i).clone() : tensor::zeros({x.size(0), y.size(1)}, tensor::Dtype::fp64);
    const std::int64_t M = x.size(0), K = x.size(1), N = y.size(1);
    const Tensor row = bias.defined() ? numbers(bias.unsqueeze(0), 0) : tensor::zeros({1, N}, tensor::Dtype::fp64);
    const double *a_MK = x.data<double>(), *b_KN = y.data<double>(), *first = row.data<double>();
    double* z = total.data<double>();
    for (std::int64_t m = 0; m < M; ++m, a_MK += K, z += N) {
      for (std::int64_t n = 0; n < N; ++n) z[n] += first[n];
      for (std::int64_t k = 0; k < K; ++k) {
        for (std::int64_t n = 0; n < N; ++n) z[n] += a_MK[k] * b_KN[k * N + n];
      }
    }
    const Tensor to = out.dims() == 3 ? out.select(0, i) : out;
    on_host(to).copy_from(total);
  }
}

void HostAccelerator::copy_bytes(const Tensor& to, const Tensor& from) {
  if (to.is_cpu() || from.is_cpu()) ++crossings_;
  const Open open(*room_);
  std::memcpy(to.data(), from.data(), static_cast<std::size_t>(to.bytes()));
}

}  // namespace troika::gpu
