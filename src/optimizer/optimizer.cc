#include "optimizer/optimizer.h"

#include <ATen/ATen.h>

#include <cmath>

#include "kernels/flat.h"
#include "sharding/tree.h"
#include "tensor/device.h"

namespace troika::optimizer {

std::map<std::string, double> squares_by_name(const model::Stage& stage, const at::Tensor& gradient) {
  std::map<std::string, double> squares;
  const auto& slots = stage.layout().slots;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (stage.layout().tied_copy && i + 1 == slots.size()) continue;
    const at::Tensor values = gradient.narrow(0, slots[i].offset, slots[i].info.elements());
    squares[slots[i].info.name] = sharding::tree_sum(kernels::chunk_squares(values));
  }
  return squares;
}

double norm_of(const std::vector<double>& squares_in_name_order) {
  return std::sqrt(sharding::tree_sum(squares_in_name_order));
}

AdamW::AdamW(const model::Stage& stage, const config::OptimizerSettings& settings, tensor::Ledger& ledger)
    : settings_(settings),
      ledger_(ledger),
      m_(tensor::zeros_float(stage.parameters().sizes(), stage.parameters().device())),
      v_(at::zeros_like(m_)) {
  ledger_.hold(tensor::Use::state, static_cast<std::int64_t>(m_.nbytes() + v_.nbytes()));
  for (const model::Slot& slot : stage.layout().slots) {
    const double decay = slot.info.decays ? settings.weight_decay : 0;
    if (ranges_.empty() || ranges_.back().weight_decay != decay) ranges_.push_back({slot.offset, 0, decay});
    ranges_.back().count += slot.info.elements();
  }
}

AdamW::~AdamW() { ledger_.release(tensor::Use::state, static_cast<std::int64_t>(m_.nbytes() + v_.nbytes())); }

void AdamW::step(const model::Stage& stage, const at::Tensor& gradient, double lr, double gradient_scale,
                 std::int64_t step) {
  for (const Range& range : ranges_) {
    const kernels::AdamW update{lr,   settings_.beta1, settings_.beta2, settings_.eps, range.weight_decay,
                                step, gradient_scale};
    const auto part = [&](const at::Tensor& flat) { return flat.narrow(0, range.begin, range.count); };
    kernels::adamw(update, part(stage.parameters()), part(gradient), part(m_), part(v_));
  }
}

}  // namespace troika::optimizer
