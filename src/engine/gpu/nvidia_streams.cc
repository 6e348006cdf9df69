
#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "gpu/nvidia_device.h"

namespace troika::gpu {
using tensor::Event;
using tensor::Lane;
using tensor::Tensor;

namespace {

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

}  // namespace

std::unique_ptr<tensor::Streams> make_nvidia_streams(NvidiaDevice& device) { return std::make_unique<NvidiaStreams>(device); }

}  // namespace troika::gpu
