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
             const shape::StatePlace& place, Checksums checksums, tensor::Streams& streams, tensor::Ledger& ledger)
    : values_(values),
      settings_(settings),
      has_master_(values.scalar_type() != at::kFloat),
      checksums_(checksums),
      state_(shape::state_tensors(static_cast<std::int64_t>(values.element_size())), values.numel(), place, streams,
             ledger) {
  std::int64_t begin = 0;
  for (const Stretch& stretch : stretches) {
    const double decay = stretch.decays ? settings.weight_decay : 0;
    const bool own = checksums == Checksums::on || ranges_.empty() || ranges_.back().weight_decay != decay;
    if (own) ranges_.push_back({begin, 0, decay});
    ranges_.back().count += stretch.count;
    begin += stretch.count;
  }
}

void AdamW::master_changed() {
  known_.clear();
  if (has_master_) kernels::round_into(state_.stored(2).to(values_.device()), values_);
}

namespace {

// The first of the sums that differs.
template <class Sums>
std::optional<StateFault> difference(const Sums& found, const Sums& left, std::size_t stretch) {
  for (std::size_t i = 0; i < left.size(); ++i)
    if (found[i] != left[i]) return StateFault{static_cast<StateFault::Where>(i), stretch};
  return std::nullopt;
}

}  // namespace

std::optional<StateFault> AdamW::step(const at::Tensor& gradient, double lr, double gradient_scale,
                                      std::int64_t update) {
  constexpr std::int64_t piece_elements = std::int64_t{1} << 18;
  std::optional<StateFault> fault;
  std::vector<Sums> written(checksums_ == Checksums::on ? ranges_.size() : 0);
  for (std::size_t r = 0; r < ranges_.size(); ++r) {
    const Range& range = ranges_[r];
    const std::int64_t piece = state_.by_pieces() ? piece_elements : range.count;
    Sums read{};
    for (std::int64_t done = 0; done < range.count; done += piece) {
      const Range now{range.begin + done, std::min(piece, range.count - done), range.weight_decay};
      step_piece(now, gradient, lr, gradient_scale, update, &read, written.empty() ? nullptr : &written[r]);
      state_.done(now.begin, now.count);
    }
    if (!known_.empty() && !fault) fault = difference(read, known_[r], r);
  }
  known_ = std::move(written);
  return fault;
}

void AdamW::step_piece(const Range& piece, const at::Tensor& gradient, double lr, double gradient_scale,
                       std::int64_t update, Sums* read, Sums* written) {
  const kernels::AdamW adamw{lr,     settings_.beta1, settings_.beta2, settings_.eps, piece.weight_decay,
                             update, gradient_scale};
  const auto part = [&](const at::Tensor& flat) { return flat.narrow(0, piece.begin, piece.count); };
  const at::Tensor master = part(has_master_ ? state_.present(2) : values_), m = part(state_.present(0)),
                   v = part(state_.present(1)), rounded = has_master_ ? part(values_) : at::Tensor();
  if (written == nullptr) return kernels::adamw(adamw, master, part(gradient), m, v, rounded);
  const at::Tensor sums = kernels::adamw_summed(adamw, master, part(gradient), m, v, rounded).cpu();
  const std::int64_t* s = sums.data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < written->size(); ++i) {
    (*read)[i] += static_cast<std::uint32_t>(s[i]);
    (*written)[i] += static_cast<std::uint32_t>(s[written->size() + i]);
  }
}

static std::uint32_t sum_of(const at::Tensor& flat, std::int64_t begin, std::int64_t count) {
  return static_cast<std::uint32_t>(kernels::bits_sum(flat.narrow(0, begin, count)).item<std::int64_t>());
}

std::optional<StateFault> AdamW::find_fault() const {
  for (std::size_t r = 0; r < known_.size(); ++r) {
    const auto sum = [&](const at::Tensor& flat) { return sum_of(flat, ranges_[r].begin, ranges_[r].count); };
    const Sums now{sum(master()), sum(m()), sum(v()), has_master_ ? sum(values_) : 0};
    const auto fault = difference(now, known_[r], r);
    state_.done(ranges_[r].begin, ranges_[r].count);
    if (fault) return fault;
  }
  return std::nullopt;
}

std::vector<std::uint32_t> AdamW::value_sums() const {
  std::vector<std::uint32_t> sums;
  constexpr auto parameter = static_cast<std::size_t>(StateFault::Where::parameter),
                 values = static_cast<std::size_t>(StateFault::Where::values);
  for (const Sums& of_range : known_) sums.push_back(of_range[has_master_ ? values : parameter]);
  return sums;
}

}  // namespace troika::optimizer
