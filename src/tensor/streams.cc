#include "tensor/streams.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace troika::tensor {

void await(const Event& event, const std::function<void()>& check) {
  for (double pause_seconds = 10e-6; !event.passed(); pause_seconds = std::min(pause_seconds * 1.5, 1e-3)) {
    check();
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_seconds));
  }
}

namespace {

class HostStreams final : public Streams {
 public:
  const c10::Device& device() const override { return device_; }
  bool shares_host_memory() const override { return true; }
  Lane new_lane() override { return Lane(next_++); }
  Event record(Lane) override { return Event(); }
  void wait(Lane, const Event&) override {}
  void copy(Lane, const at::Tensor& to, const at::Tensor& from) override { to.copy_(from); }
  at::Tensor new_host_tensor(at::IntArrayRef sizes, at::ScalarType dtype) override { return at::empty(sizes, dtype); }
  void* handle(Lane) override { return nullptr; }

 private:
  const c10::Device device_{c10::kCPU};
  int next_ = copy_lane.number() + 1;
};

}  // namespace

std::unique_ptr<Streams> make_host_streams() { return std::make_unique<HostStreams>(); }

std::vector<at::Tensor> read_back(Streams& streams, const std::vector<at::Tensor>& tensors,
                                  const std::function<void()>& check) {
  if (streams.shares_host_memory()) return tensors;
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) {
    copies.push_back(streams.new_host_tensor(tensor.sizes(), tensor.scalar_type()));
    streams.copy(compute_lane, copies.back(), tensor.contiguous());
  }
  await(streams.record(compute_lane), check);
  return copies;
}

}  // namespace troika::tensor
