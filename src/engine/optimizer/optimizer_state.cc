#include "optimizer/optimizer_state.h"

#include <utility>

namespace troika::optimizer {

constexpr std::int64_t element_bytes = 4;

OptimizerState::OptimizerState(int count, std::int64_t elements, const shape::StatePlace& place,
                               tensor::Streams& streams, tensor::Ledger& ledger)
    : streams_(streams), ledger_(ledger), elements_(elements), host_(place.kind != shape::StatePlace::Kind::device) {
  if (place.kind == shape::StatePlace::Kind::file)
    mapping_ = std::make_unique<base::ScratchMapping>(place.folder, element_bytes * elements * count);
  for (int i = 0; i < count; ++i) {
    if (mapping_ != nullptr) {
      auto* begin = static_cast<float*>(mapping_->data());
      stored_.push_back(elements == 0 ? tensor::empty({0}, tensor::Dtype::fp32)
                                      : tensor::borrow(begin + i * elements, {elements}, tensor::Dtype::fp32));
    } else if (travels()) {
      stored_.push_back(
          tensor::booked_host_tensor(elements, tensor::Dtype::fp32, streams, ledger, tensor::MemoryUse::state).zero());
    } else {
      stored_.push_back(
          tensor::booked_empty(elements, tensor::Dtype::fp32, streams.device(), ledger, tensor::MemoryUse::state).zero());
    }
  }
}

const tensor::Tensor& OptimizerState::stored(int index) const {
  tensor::await(left_, [] {});
  return stored_.at(static_cast<std::size_t>(index));
}

// The memory may have been in use by the compute lane until now.
void OptimizerState::fetch() {
  if (mapping_ != nullptr) mapping_->will_need(0, mapping_->bytes());
  if (!travels() || !fetched_.empty()) return;
  for (std::size_t i = 0; i < stored_.size(); ++i)
    fetched_.push_back(
        tensor::booked_empty(elements_, tensor::Dtype::fp32, streams_.device(), ledger_, tensor::MemoryUse::state));
  streams_.wait(tensor::in_lane, streams_.record(tensor::compute_lane));
  for (std::size_t i = 0; i < stored_.size(); ++i) streams_.copy(tensor::in_lane, fetched_[i], stored_[i]);
  arrived_ = streams_.record(tensor::in_lane);
}

const tensor::Tensor& OptimizerState::present(int index) {
  if (fetched_.empty()) return stored(index);
  streams_.wait(tensor::compute_lane, std::exchange(arrived_, tensor::Event()));
  return fetched_.at(static_cast<std::size_t>(index));
}

void OptimizerState::done(std::int64_t begin, std::int64_t count) const {
  if (mapping_ == nullptr) return;
  for (std::size_t i = 0; i < stored_.size(); ++i) {
    const std::int64_t offset = (static_cast<std::int64_t>(i) * elements_ + begin) * element_bytes;
    mapping_->drop(offset, count * element_bytes);
  }
}

// The compute lane waits before the memory is used again; until then the next buffer's state comes in.
void OptimizerState::offload() {
  if (!fetched_.empty()) {
    streams_.wait(tensor::out_lane, streams_.record(tensor::compute_lane));
    for (std::size_t i = 0; i < fetched_.size(); ++i) streams_.copy(tensor::out_lane, stored_[i], fetched_[i]);
    left_ = streams_.record(tensor::out_lane);
    streams_.wait(tensor::compute_lane, left_);
    fetched_.clear();
  }
  if (mapping_ == nullptr) return;
  mapping_->drop(0, mapping_->bytes());
  mapping_->write_back(0, mapping_->bytes());
}

}  // namespace troika::optimizer
