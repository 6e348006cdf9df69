#include <algorithm>
#include <cmath>

#include "kernels/cpu_operands.h"
#include "kernels/reference/reference_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels::reference {

void add_into(const at::Tensor& sum, const at::Tensor& other) { sum.add_(other); }

at::Tensor chunk_squares(const at::Tensor& x, std::int64_t chunk) {
  const std::int64_t whole = x.numel() / chunk;
  const std::int64_t piece = x.is_cpu() ? 16 : 1024;  // chunks; what is doubled at a time stays small
  std::vector<at::Tensor> sums;
  for (std::int64_t first = 0; first < whole; first += piece) {
    const std::int64_t count = std::min(piece, whole - first);
    const at::Tensor chunks = x.narrow(0, first * chunk, count * chunk).view({count, chunk});
    sums.push_back(chunks.to(at::kDouble).square_().sum(1));
  }
  if (whole * chunk < x.numel()) {
    sums.push_back(x.narrow(0, whole * chunk, x.numel() - whole * chunk).to(at::kDouble).square_().sum(0, true));
  }
  return sums.empty() ? at::empty({0}, x.options().dtype(at::kDouble)) : at::cat(sums);
}

// No operation below may fuse a multiplication with an addition (add with alpha, addcmul, lerp): a vectorized loop would round once and
// its scalar tail twice, and where the tail lies depends on the layout.
static void adamw_piece(const AdamW& a, double weight_decay, at::Tensor p, const at::Tensor& gradient, at::Tensor m,
                        at::Tensor v) {
  const at::Tensor g = gradient * a.gradient_scale;
  m.mul_(a.beta1).add_(g * (1 - a.beta1));
  v.mul_(a.beta2).add_(g.square().mul_(1 - a.beta2));
  const double steps = static_cast<double>(a.step);
  const double m_correction = 1 / (1 - std::pow(a.beta1, steps)), v_correction = 1 / (1 - std::pow(a.beta2, steps));
  // Through double, because the root of floats that a libtorch over MKL gives is not always the nearest one.
  at::Tensor update = (v * v_correction).to(at::kDouble).sqrt_().to(at::kFloat).add_(a.eps);
  update = (m * m_correction).div_(update).mul_(a.lr);
  if (weight_decay != 0) p.mul_(1 - a.lr * weight_decay);
  p.sub_(update);
}

void adamw(const AdamW& settings, double weight_decay, const AdamWTensors& tensors) {
  const auto& [parameter, gradient, m, v, rounded] = tensors;
  constexpr std::int64_t piece = 1 << 16;  // elements; the temporaries of one piece stay in the second-level cache
  const std::int64_t step = parameter.is_cpu() ? piece : tensor::theirs(parameter).numel();
  for (std::int64_t begin = 0; begin < tensor::theirs(parameter).numel(); begin += step) {
    const std::int64_t count = std::min(step, tensor::theirs(parameter).numel() - begin);
    adamw_piece(settings, weight_decay, parameter.narrow(0, begin, count), gradient.narrow(0, begin, count),
                m.narrow(0, begin, count), v.narrow(0, begin, count));
    if (rounded.defined()) round_into(parameter.narrow(0, begin, count), rounded.narrow(0, begin, count));
  }
}

void round_into(const at::Tensor& master, const at::Tensor& rounded) { rounded.copy_(master); }

at::Tensor bits_sum(const at::Tensor& tensor) {
  const std::int64_t most = tensor.element_size() == 2 ? 0xffff : 0xffffffff;
  const at::Tensor bits = tensor.view({-1}).view(tensor.element_size() == 2 ? at::kShort : at::kInt).to(at::kLong);
  return bits.bitwise_and(at::Scalar(most)).sum().bitwise_and(at::Scalar(std::int64_t{0xffffffff})).view({1});
}

at::Tensor gelu_forward(const at::Tensor& x) { return to_dtype_of(x, at::gelu(to_float(x), "tanh")); }

at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& x) {
  return to_dtype_of(x, at::gelu_backward(to_float(dy), to_float(x), "tanh"));
}

at::Tensor swiglu_forward(const at::Tensor& gate_up_M2F) {
  const auto parts = tensor::theirs(to_float(gate_up_M2F)).chunk(2, 1);
  return to_dtype_of(gate_up_M2F, at::silu(parts[0]).mul_(parts[1]));
}

at::Tensor swiglu_backward(const at::Tensor& dh_MF, const at::Tensor& gate_up_M2F) {
  const at::Tensor dhf_MF = to_float(dh_MF), both_M2F = to_float(gate_up_M2F);
  const auto parts = both_M2F.chunk(2, 1);
  const at::Tensor sigmoid_MF = parts[0].sigmoid(), silu_MF = parts[0] * sigmoid_MF;
  at::Tensor gradient_M2F = at::empty_like(both_M2F);
  const auto out = gradient_M2F.chunk(2, 1);
  at::Tensor dgate_MF = out[0], dup_MF = out[1];
  at::mul_out(dup_MF, dhf_MF, silu_MF);
  // silu'(g) = s + silu(g) (1 - s)
  const at::Tensor slope_MF = (1.0 - sigmoid_MF).mul_(silu_MF).add_(sigmoid_MF);
  at::mul_out(dgate_MF, slope_MF.mul_(parts[1]), dhf_MF);
  return to_dtype_of(gate_up_M2F, gradient_M2F);
}

at::Tensor geglu_forward(const at::Tensor& gate_up_M2F) {
  const auto parts = tensor::theirs(to_float(gate_up_M2F)).chunk(2, 1);
  return to_dtype_of(gate_up_M2F, at::gelu(parts[0], "tanh") * parts[1]);
}

at::Tensor geglu_backward(const at::Tensor& dh_MF, const at::Tensor& gate_up_M2F) {
  const at::Tensor dh = to_float(dh_MF);
  const auto parts = tensor::theirs(to_float(gate_up_M2F)).chunk(2, 1);
  return to_dtype_of(gate_up_M2F, at::cat({at::gelu_backward(dh * parts[1], parts[0], "tanh"), dh * at::gelu(parts[0], "tanh")}, 1));
}

}  // namespace troika::kernels::reference
