#include "gpu/host_accelerator_test_support.h"

#include <cstdlib>
#include <cstring>

#include "gpu/host_kernels_test_support.h"
#include "tensor/streams.h"

namespace troika::gpu {
using tensor::Tensor;

namespace {

class BorrowedMemory final : public tensor::Memory {
 public:
  BorrowedMemory(std::shared_ptr<tensor::Memory> host, const tensor::Device& device)
      : Memory(host->data(), host->bytes(), device), host_(std::move(host)) {}

 private:
  const std::shared_ptr<tensor::Memory> host_;
};

// As host streams, of the device.
class DirectStreams final : public tensor::Streams {
 public:
  explicit DirectStreams(const tensor::Device& device) : device_(device) {}
  const tensor::Device& device() const override { return device_; }
  bool shares_host_memory() const override { return false; }
  tensor::Lane new_lane() override { return tensor::Lane(next_++); }
  tensor::Event record(tensor::Lane) override { return {}; }
  void wait(tensor::Lane, const tensor::Event&) override {}
  void copy(tensor::Lane, const Tensor& to, const Tensor& from) override {
    if (to.bytes() > 0) std::memcpy(to.data(), from.data(), static_cast<std::size_t>(to.bytes()));
  }
  Tensor new_host_tensor(const tensor::Sizes& sizes, tensor::Dtype dtype) override { return tensor::empty(sizes, dtype); }
  void* handle(tensor::Lane) override { return nullptr; }

 private:
  const tensor::Device device_;
  int next_ = 2;
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

std::shared_ptr<tensor::Memory> HostAccelerator::allocate(std::size_t bytes, const tensor::Device& device) {
  const auto memory = std::make_shared<BorrowedMemory>(tensor::allocate(bytes, tensor::Device()), device);
  if (bytes > 0) std::memset(memory->data(), 0xff, bytes);
  return memory;
}

std::unique_ptr<tensor::Streams> HostAccelerator::make_streams(const tensor::Device& device) {
  return std::make_unique<DirectStreams>(device);
}

void HostAccelerator::launch(const tensor::Device&, const tensor::KernelCall& call) {
  run_kernel_on_host(call, static_cast<std::uint64_t>(++launches_));
}

void HostAccelerator::multiply(const Tensor& a, const Tensor& b, const Tensor& out, const Tensor& bias, tensor::Sum sum) {
  ++products_;
  const std::int64_t count = out.dims() == 3 ? out.size(0) : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor x = numbers(a, i), y = numbers(b, i), before = numbers(out, i).clone();
    const std::int64_t M = x.size(0), K = x.size(1), N = y.size(1);
    const Tensor row = bias.defined() ? numbers(bias.unsqueeze(0), 0) : Tensor();
    auto* const z = before.data<double>();
    for (std::int64_t m = 0; m < M; ++m) {
      for (std::int64_t n = 0; n < N; ++n) {
        double total = sum == tensor::Sum::added ? z[m * N + n] : row.defined() ? row.data<double>()[n] : 0;
        for (std::int64_t k = 0; k < K; ++k) total += x.data<double>()[m * K + k] * y.data<double>()[k * N + n];
        z[m * N + n] = total;
      }
    }
    const Tensor to = out.dims() == 3 ? out.select(0, i) : out;
    on_host(to).copy_from(before);
  }
}

void HostAccelerator::copy_bytes(const Tensor& to, const Tensor& from) {
  std::memcpy(to.data(), from.data(), static_cast<std::size_t>(to.bytes()));
}

}  // namespace troika::gpu
