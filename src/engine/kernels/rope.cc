#include "kernels/rope.h"

#include <algorithm>
#include <cmath>

#include "base/exact_math.h"
#include "cpu/parallel.h"
#include "cpu/rope.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "tensor/operations.h"

namespace troika::kernels {
namespace {

// The number of the pair that turns so often over the original positions, as a real number.
double pair_that_turns(double times, const RopeFrequencies& f) {
  const double two_pi = 2 * std::acos(-1.0);
  return static_cast<double>(f.head_dim) * base::log(f.scaling.original_positions / (times * two_pi)) / (2 * base::log(f.theta));
}

double yarn(double frequency, double pair, const RopeFrequencies& f) {
  const double last = static_cast<double>(f.head_dim) - 1;
  const double begin = std::max(0.0, std::floor(pair_that_turns(f.scaling.beta_fast, f)));
  double end = std::min(last, std::ceil(pair_that_turns(f.scaling.beta_slow, f)));
  if (begin == end) end += 0.001;
  const double scaled = std::clamp((pair - begin) / (end - begin), 0.0, 1.0);
  return frequency / f.scaling.factor * scaled + frequency * (1 - scaled);
}

double stretched(double frequency, double pair, const RopeFrequencies& f) {
  const RopeScaling& s = f.scaling;
  if (s.kind == RopeScaling::Kind::none) return frequency;
  if (s.kind == RopeScaling::Kind::linear) return frequency / s.factor;
  if (s.kind == RopeScaling::Kind::yarn) return yarn(frequency, pair, f);
  const double turns = s.original_positions * frequency / (2 * std::acos(-1.0));  // within the original positions
  if (turns < s.low_freq_factor) return frequency / s.factor;
  if (turns > s.high_freq_factor) return frequency;
  const double kept = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return (1 - kept) * frequency / s.factor + kept * frequency;
}

std::vector<double> frequencies_of(const RopeFrequencies& f) {
  std::vector<double> frequency_I;
  for (std::int64_t i = 0; i < f.head_dim; i += 2) {
    const double exponent = static_cast<double>(i) / -static_cast<double>(f.head_dim);
    frequency_I.push_back(stretched(base::pow(f.theta, exponent), static_cast<double>(i / 2), f));
  }
  return frequency_I;
}

// y is x turned; both with a contiguous last dim.
void turn(const tensor::Tensor& x, const RopeTable& rope, cpu::Turn turn, const tensor::Tensor& y) {
  const HostRope table(rope);
  const cpu::Rope op{x.size(0), x.size(1), x.size(2), x.size(3), table.rows};
  cpu::rope(op, turn, heads_view<cpu::Heads>(x), heads_view<cpu::MutableHeads>(y));
}

}  // namespace

RopeTable make_rope_table(const std::vector<std::int64_t>& positions, const RopeFrequencies& frequencies,
                          const tensor::Device& device) {
  const std::vector<double> frequency_I = frequencies_of(frequencies);
  const auto T = static_cast<std::int64_t>(positions.size()), I = static_cast<std::int64_t>(frequency_I.size());
  const tensor::Tensor cos_TI = tensor::empty({T, I}), sin_TI = tensor::empty({T, I});
  cpu::parallel_pieces(T, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin * I; at < end * I; ++at) {
      const auto position = static_cast<double>(positions[static_cast<std::size_t>(at / I)]);
      const double angle = position * frequency_I[static_cast<std::size_t>(at % I)];
      cos_TI.data<float>()[at] = static_cast<float>(frequencies.scaling.magnitude * base::cos(angle));
      sin_TI.data<float>()[at] = static_cast<float>(frequencies.scaling.magnitude * base::sin(angle));
    }
  });
  return {cos_TI.to(device), sin_TI.to(device), {}};
}

RopeTable rows(const RopeTable& table, const tensor::Tensor& index_T) {
  return {tensor::rows_of(table.cos_TI, index_T), tensor::rows_of(table.sin_TI, index_T), {}};
}

tensor::Tensor rope_forward(const tensor::Tensor& x_BTnH, const RopeTable& rope) {
  if (x_BTnH.is_cpu()) {
    const tensor::Tensor x = heads_operand(x_BTnH), y = tensor::empty(x.sizes(), x.type());
    turn(x, rope, cpu::Turn::forward, y);
    return to_dtype_of(x_BTnH, y);
  }
  return on_cuda::rope_forward(x_BTnH, rope);
}

void rope_backward(const tensor::Tensor& dy_BTnH, const RopeTable& rope, const tensor::Tensor& dx_BTnH) {
  if (dy_BTnH.is_cpu()) {
    const tensor::Tensor dy = heads_operand(dy_BTnH);
    const bool direct = is_heads_operand(dx_BTnH);
    const tensor::Tensor dx = direct ? dx_BTnH : empty_operand(dx_BTnH, dx_BTnH.sizes());
    turn(dy, rope, cpu::Turn::back, dx);
    if (!direct) dx_BTnH.copy_from(dx);
    return;
  }
  return on_cuda::rope_backward(dy_BTnH, rope, dx_BTnH);
}

// The tensors must outlive the result.
static cpu::QkNormRope operation(const tensor::Tensor& x_BTnH, const tensor::Tensor& w_H, const HostRope& table, Gain gain) {
  return {x_BTnH.size(0), x_BTnH.size(1), x_BTnH.size(2), x_BTnH.size(3), w_H.data(), added_to_weight(gain), table.rows};
}

tensor::Tensor qk_norm_rope_forward(const tensor::Tensor& x_BTnH, const tensor::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved, Gain gain) {
  if (x_BTnH.is_cpu()) {
    const tensor::Tensor x = heads_operand(x_BTnH), w = cpu_operand(w_H).contiguous(),
                     y = tensor::empty(x.sizes(), x.type());
    const HostRope table(rope);
    const tensor::Tensor rstd_BTn = empty_statistics(x, x.sizes().slice(0, 3));
    cpu::qk_norm_rope_forward(operation(x, w, table, gain), eps, heads_view<cpu::Heads>(x), heads_view<cpu::MutableHeads>(y),
                              rstd_BTn.data<float>());
    if (saved != nullptr) saved->rstd_BTn = rstd_BTn;
    return to_dtype_of(x_BTnH, y);
  }
  return on_cuda::qk_norm_rope_forward(x_BTnH, w_H, eps, rope, saved, gain);
}

void qk_norm_rope_backward(const tensor::Tensor& dy_BTnH, const tensor::Tensor& x_BTnH, const tensor::Tensor& w_H,
                           const RopeTable& rope, const QkNormRopeSaved& saved, const tensor::Tensor& dx_BTnH,
                           const tensor::Tensor& dw_H, Gain gain) {
  if (x_BTnH.is_cpu()) {
    const tensor::Tensor dy = heads_operand(dy_BTnH), x = heads_operand(x_BTnH), w = cpu_operand(w_H).contiguous();
    const HostRope table(rope);
    const bool direct = is_heads_operand(dx_BTnH);
    const tensor::Tensor dx = direct ? dx_BTnH : empty_operand(dx_BTnH, dx_BTnH.sizes());
    cpu::qk_norm_rope_backward(operation(x, w, table, gain), heads_view<cpu::Heads>(dy), heads_view<cpu::Heads>(x),
                               saved.rstd_BTn.data<float>(), heads_view<cpu::MutableHeads>(dx),
                               dw_H.data<float>());
    if (!direct) dx_BTnH.copy_from(dx);
    return;
  }
  return on_cuda::qk_norm_rope_backward(dy_BTnH, x_BTnH, w_H, rope, saved, dx_BTnH, dw_H, gain);
}

}  // namespace troika::kernels
