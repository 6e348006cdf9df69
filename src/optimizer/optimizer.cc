#include "optimizer/optimizer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/flat.h"

namespace troika::optimizer {

double square_of_part(const shape::ShardPlan& plan, std::size_t part, const std::vector<double>& chunk_squares) {
  const shape::Range chunks = plan.chunks_of_part(part);
  return std::accumulate(chunk_squares.begin() + chunks.begin, chunk_squares.begin() + chunks.end(), 0.0);
}

double norm_of(const std::vector<double>& squares_in_name_order) {
  return std::sqrt(std::accumulate(squares_in_name_order.begin(), squares_in_name_order.end(), 0.0));
}

AdamW::AdamW(const std::vector<Stretch>& stretches, const at::Tensor& values, const config::OptimizerSettings& settings,
             const shape::StatePlace& place, tensor::Streams& streams, tensor::Ledger& ledger)
    : values_(values),
      settings_(settings),
      has_master_(values.scalar_type() != at::kFloat),
      state_(shape::state_tensors(static_cast<std::int64_t>(values.element_size())), values.numel(), place, streams,
             ledger) {
  std::int64_t begin = 0;
  for (const Stretch& stretch : stretches) {
    if (stretch.count == 0) continue;
    const double decay = stretch.decays ? settings.weight_decay : 0;
    if (ranges_.empty() || ranges_.back().weight_decay != decay) ranges_.push_back({begin, 0, decay});
    ranges_.back().count += stretch.count;
    begin += stretch.count;
  }
}

void AdamW::master_changed() {
  if (has_master_) kernels::round_into(state_.stored(2).to(values_.device()), values_);
}

void AdamW::step(const at::Tensor& gradient, double lr, double gradient_scale, std::int64_t update) {
  constexpr std::int64_t piece_elements = std::int64_t{1} << 18;
  for (const Range& range : ranges_) {
    const std::int64_t piece = state_.by_pieces() ? piece_elements : range.count;
    for (std::int64_t done = 0; done < range.count; done += piece) {
      const Range now{range.begin + done, std::min(piece, range.count - done), range.weight_decay};
      step_piece(now, gradient, lr, gradient_scale, update);
      state_.done(now.begin, now.count);
    }
  }
}

void AdamW::step_piece(const Range& piece, const at::Tensor& gradient, double lr, double gradient_scale,
                       std::int64_t update) {
  const kernels::AdamW adamw{lr,     settings_.beta1, settings_.beta2, settings_.eps, piece.weight_decay,
                             update, gradient_scale};
  const auto part = [&](const at::Tensor& flat) { return flat.narrow(0, piece.begin, piece.count); };
  const at::Tensor master = has_master_ ? state_.present(2) : values_;
  kernels::adamw(adamw, part(master), part(gradient), part(state_.present(0)), part(state_.present(1)),
                 has_master_ ? part(values_) : at::Tensor());
}

}  // namespace troika::optimizer
