#include "optimizer/optimizer_state.h"

#include <gmock/gmock.h>

namespace troika::optimizer {
namespace {
using tensor::Lane;

// The streams of a device beside the host's memory, which does everything at once and remembers in which lanes it copied.
class Remembering final : public tensor::Streams {
 public:
  const tensor::Device& device() const override { return inner_->device(); }
  bool shares_host_memory() const override { return false; }
  Lane new_lane() override { return inner_->new_lane(); }
  tensor::Event record(Lane lane, tensor::Timed timed) override { return inner_->record(lane, timed); }
  double seconds_between(const tensor::Event& begin, const tensor::Event& end) override {
    return inner_->seconds_between(begin, end);
  }
  void wait(Lane lane, const tensor::Event& event) override { inner_->wait(lane, event); }
  void copy(Lane lane, const tensor::Tensor& to, const tensor::Tensor& from) override {
    lanes.push_back(lane.number());
    inner_->copy(lane, to, from);
  }
  tensor::Tensor new_host_tensor(const tensor::Sizes& sizes, tensor::Dtype dtype) override {
    return inner_->new_host_tensor(sizes, dtype);
  }
  void* handle(Lane lane) override { return inner_->handle(lane); }

  std::vector<int> lanes;

 private:
  const std::unique_ptr<tensor::Streams> inner_ = tensor::make_host_streams();
};

TEST(OptimizerState, ComesAndGoesInLanesThatPassEachOther) {
  Remembering streams;
  tensor::Ledger ledger;
  shape::StatePlace place;
  place.kind = shape::StatePlace::Kind::host;
  OptimizerState one(1, 8, place, streams, ledger), next(1, 8, place, streams, ledger);
  one.fetch();
  one.present(0).fill(3);
  next.fetch();
  one.offload();
  using testing::ElementsAre;
  EXPECT_THAT(streams.lanes, ElementsAre(tensor::in_lane.number(), tensor::in_lane.number(), tensor::out_lane.number()));
  EXPECT_EQ(one.stored(0).data<float>()[7], 3);
}

}  // namespace
}  // namespace troika::optimizer
