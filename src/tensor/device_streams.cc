#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/streams.h"
#include "tensor/tensor.h"

namespace troika::tensor {

#ifdef TROIKA_WITH_CUDA

namespace {

class DeviceEvent final : public Event::Body {
 public:
  explicit DeviceEvent(const c10::Stream& stream) : event_(stream.device_type()) { event_.record(stream); }
  bool passed() override {
    try {
      return event_.query();
    } catch (const c10::Error& error) {
      throw base::BugError(std::string("the device failed: ") + error.what_without_backtrace());
    }
  }
  void block(const c10::Stream& stream) { event_.block(stream); }

 private:
  c10::Event event_;
};

// A lane is a stream: of the thread, where it computes, else one of libtorch's pool.
class DeviceStreams final : public Streams {
 public:
  explicit DeviceStreams(const Device& device) : device_(device), guard_(device.type()) {
    lanes_.push_back(guard_.getStream(device_));
    new_lane();  // copy_lane
  }
  const Device& device() const override { return device_; }
  bool shares_host_memory() const override { return false; }
  Lane new_lane() override {
    lanes_.push_back(guard_.getStreamFromGlobalPool(device_, false));
    return Lane(static_cast<int>(lanes_.size()) - 1);
  }
  Event record(Lane lane) override { return Event(std::make_shared<DeviceEvent>(of(lane))); }
  void wait(Lane lane, const Event& event) override {
    if (event.body() != nullptr) static_cast<DeviceEvent&>(*event.body()).block(of(lane));
  }
  void copy(Lane lane, const Tensor& to, const Tensor& from) override {
    const c10::StreamGuard guard(of(lane));
    to.copy_from(from, /*non_blocking=*/true);
  }
  Tensor new_host_tensor(const Sizes& sizes, Dtype dtype) override {
    return empty(sizes, TensorType(dtype).pinned_memory(true));
  }
  void* handle(Lane lane) override { return of(lane).native_handle(); }

 private:
  const c10::Stream& of(Lane lane) const { return lanes_.at(static_cast<std::size_t>(lane.number())); }

  const Device device_;
  const c10::impl::VirtualGuardImpl guard_;
  std::vector<c10::Stream> lanes_;
};

}  // namespace

std::unique_ptr<Streams> make_streams(const Device& device) {
  if (device.is_cpu()) return make_host_streams();
  return std::make_unique<DeviceStreams>(device);
}

#else

std::unique_ptr<Streams> make_streams(const Device& device) {
  if (!device.is_cpu()) throw base::BugError("streams of " + device.str() + " in a build for CPUs");
  return make_host_streams();
}

#endif

}  // namespace troika::tensor
