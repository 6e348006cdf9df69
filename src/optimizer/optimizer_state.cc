#include "optimizer/optimizer_state.h"

#include <ATen/ATen.h>

#include "tensor/booked.h"

namespace troika::optimizer {

constexpr std::int64_t element_bytes = 4;

OptimizerState::OptimizerState(int count, std::int64_t elements, const shape::StatePlace& place,
                               const c10::Device& device, tensor::Ledger& ledger)
    : device_(device), ledger_(ledger), elements_(elements) {
  if (place.kind == shape::StatePlace::Kind::file)
    mapping_ = std::make_unique<base::ScratchMapping>(place.folder, element_bytes * elements * count);
  for (int i = 0; i < count; ++i) {
    if (mapping_ != nullptr) {
      auto* begin = static_cast<float*>(mapping_->data());
      stored_.push_back(elements == 0 ? at::empty({0}, at::kFloat)
                                      : at::from_blob(begin + i * elements, {elements}, at::kFloat));
    } else if (place.kind == shape::StatePlace::Kind::host && !device.is_cpu()) {
      stored_.push_back(at::zeros({elements}, at::kFloat));
    } else {
      stored_.push_back(tensor::booked_empty(elements, at::kFloat, device, ledger, tensor::MemoryUse::state).zero_());
    }
  }
}

void OptimizerState::fetch() {
  if (mapping_ != nullptr) mapping_->will_need(0, mapping_->bytes());
  if (device_.is_cpu() || !fetched_.empty()) return;
  for (const at::Tensor& stored : stored_) {
    if (stored.device() == device_) return;
    fetched_.push_back(tensor::booked_empty(elements_, at::kFloat, device_, ledger_, tensor::MemoryUse::state));
    fetched_.back().copy_(stored, /*non_blocking=*/true);
  }
}

const at::Tensor& OptimizerState::present(int index) const {
  return fetched_.empty() ? stored(index) : fetched_.at(static_cast<std::size_t>(index));
}

void OptimizerState::done(std::int64_t begin, std::int64_t count) const {
  if (mapping_ == nullptr) return;
  for (std::size_t i = 0; i < stored_.size(); ++i) {
    const std::int64_t offset = (static_cast<std::int64_t>(i) * elements_ + begin) * element_bytes;
    mapping_->drop(offset, count * element_bytes);
  }
}

void OptimizerState::offload() {
  for (std::size_t i = 0; i < fetched_.size(); ++i) stored_[i].copy_(fetched_[i]);
  fetched_.clear();
  if (mapping_ == nullptr) return;
  mapping_->drop(0, mapping_->bytes());
  mapping_->write_back(0, mapping_->bytes());
}

}  // namespace troika::optimizer
