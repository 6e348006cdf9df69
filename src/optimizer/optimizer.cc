#include "optimizer/optimizer.h"

#include <ATen/ATen.h>

#include <cmath>

#include "kernels/flat.h"
#include "sharding/tree.h"

namespace troika::optimizer {

std::map<std::string, double> squares_by_name(const std::vector<Parameter>& parameters, const at::Tensor& gradient) {
  std::map<std::string, double> squares;
  for (const Parameter& p : parameters) {
    if (p.counts)
      squares[p.name] = sharding::tree_sum(kernels::chunk_squares(gradient.narrow(0, p.offset, p.elements)));
  }
  return squares;
}

double norm_of(const std::vector<double>& squares_in_name_order) {
  return std::sqrt(sharding::tree_sum(squares_in_name_order));
}

AdamW::AdamW(std::vector<Parameter> parameters, at::Tensor values, const config::OptimizerSettings& settings,
             tensor::Ledger& ledger)
    : parameters_(std::move(parameters)),
      values_(std::move(values)),
      settings_(settings),
      ledger_(ledger),
      m_(at::zeros_like(values_)),
      v_(at::zeros_like(values_)) {
  ledger_.hold(tensor::Use::state, static_cast<std::int64_t>(m_.nbytes() + v_.nbytes()));
  for (const Parameter& p : parameters_) {
    const double decay = p.decays ? settings.weight_decay : 0;
    if (ranges_.empty() || ranges_.back().weight_decay != decay) ranges_.push_back({p.offset, 0, decay});
    ranges_.back().count += p.elements;
  }
}

AdamW::~AdamW() { ledger_.release(tensor::Use::state, static_cast<std::int64_t>(m_.nbytes() + v_.nbytes())); }

void AdamW::step(const at::Tensor& gradient, double lr, double gradient_scale, std::int64_t step) {
  for (const Range& range : ranges_) {
    const kernels::AdamW update{lr,   settings_.beta1, settings_.beta2, settings_.eps, range.weight_decay,
                                step, gradient_scale};
    const auto part = [&](const at::Tensor& flat) { return flat.narrow(0, range.begin, range.count); };
    kernels::adamw(update, part(values_), part(gradient), part(m_), part(v_));
  }
}

}  // namespace troika::optimizer
