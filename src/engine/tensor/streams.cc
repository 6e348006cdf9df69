#include "tensor/streams.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "tensor/accelerator.h"

namespace troika::tensor {

void await(const Event& event, const std::function<void()>& check) {
  for (double pause_seconds = 10e-6; !event.passed(); pause_seconds = std::min(pause_seconds * 1.5, 1e-3)) {
    check();
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_seconds));
  }
}

namespace {

// Has passed when it is recorded.
class HostEvent final : public Event::Body {
 public:
  bool passed() override { return true; }
  double seconds() const { return seconds_; }

 private:
  const double seconds_ = base::monotonic_seconds();
};

class HostStreams final : public Streams {
 public:
  const Device& device() const override { return device_; }
  bool shares_host_memory() const override { return true; }
  Lane new_lane() override { return Lane(next_++); }
  Event record(Lane, Timed timed) override {
    return timed == Timed::yes ? Event(std::make_shared<HostEvent>()) : Event();
  }
  double seconds_between(const Event& begin, const Event& end) override { return seconds(end) - seconds(begin); }
  void wait(Lane, const Event&) override {}
  void copy(Lane, const Tensor& to, const Tensor& from) override { to.copy_from(from); }
  Tensor new_host_tensor(const Sizes& sizes, Dtype dtype) override { return empty(sizes, dtype); }
  void* handle(Lane) override { return nullptr; }

 private:
  static double seconds(const Event& event) { return dynamic_cast<const HostEvent&>(*event.body()).seconds(); }

  const Device device_{};
  int next_ = out_lane.number() + 1;
};

}  // namespace

std::unique_ptr<Streams> make_host_streams() { return std::make_unique<HostStreams>(); }

std::unique_ptr<Streams> make_streams(const Device& device) {
  return device.is_cpu() ? make_host_streams() : device.accelerator().make_streams(device);
}

std::vector<Tensor> read_back(Streams& streams, const std::vector<Tensor>& tensors,
                              const std::function<void()>& check) {
  if (streams.shares_host_memory()) return tensors;
  std::vector<Tensor> copies;
  for (const Tensor& tensor : tensors) {
    copies.push_back(streams.new_host_tensor(tensor.sizes(), tensor.dtype()));
    streams.copy(compute_lane, copies.back(), tensor.contiguous());
  }
  await(streams.record(compute_lane), check);
  return copies;
}

}  // namespace troika::tensor
