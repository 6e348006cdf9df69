#include "cpu/activation.h"

#include <algorithm>

#include "cpu/parallel.h"
#include "cpu/row_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/activation.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/exp-inl.h"
#include "cpu/lanes16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {

// 1 / (1 + e^-x) and 1 minus it, both without cancellation or overflow.
struct Sigmoid {
  F16 s, rest;
};
HWY_INLINE Sigmoid sigmoid(const F16& x) {
  const F16 e = map([](PartVec v) HWY_ATTR { return fast_exp(Part(), hn::Neg(hn::Abs(v))); }, x);
  const F16 large = set16(1) / (set16(1) + e), small = e * large;
  const auto pick = [](PartVec v, PartVec negative, PartVec other)
                        HWY_ATTR { return hn::IfThenElse(hn::Lt(v, hn::Zero(Part())), negative, other); };
  return {map(pick, x, small, large), map(pick, x, large, small)};
}

// body(out + j, in + j) for j = 0, 16, ... below count; the end goes through copies.
template <std::size_t O, std::size_t I, class Body>
HWY_INLINE void for_each_16(std::int64_t count, float* const (&out)[O], const float* const (&in)[I], const Body& body) {
  const std::int64_t whole = count / 16 * 16, rest = count - whole;
  F16 results[O], inputs[I];
  for (std::int64_t j = 0; j < whole; j += 16) {
    for (std::size_t k = 0; k < I; ++k) inputs[k] = load16(in[k] + j);
    body(results, inputs);
    for (std::size_t k = 0; k < O; ++k) store16(results[k], out[k] + j);
  }
  if (rest == 0) return;
  float copy[16] = {};
  for (std::size_t k = 0; k < I; ++k) {
    std::copy_n(in[k] + whole, rest, copy);
    inputs[k] = load16(copy);
  }
  body(results, inputs);
  for (std::size_t k = 0; k < O; ++k) {
    store16(results[k], copy);
    std::copy_n(copy, rest, out[k] + whole);
  }
}

void swiglu_forward_row(std::int64_t F, const float* gate, const float* up, float* h) {
  for_each_16<1, 2>(F, {h}, {gate, up},
                    [](F16(&out)[1], const F16(&in)[2]) HWY_ATTR { out[0] = in[0] * sigmoid(in[0]).s * in[1]; });
}

// silu'(g) = s + g s (1 - s)
void swiglu_backward_row(std::int64_t F, const float* dh, const float* gate, const float* up, float* dgate,
                         float* dup) {
  for_each_16<2, 3>(F, {dgate, dup}, {dh, gate, up}, [](F16(&out)[2], const F16(&in)[3]) HWY_ATTR {
    const Sigmoid of = sigmoid(in[1]);
    const F16 silu = in[1] * of.s;
    out[0] = mul_add(silu, of.rest, of.s) * in[2] * in[0];
    out[1] = silu * in[0];
  });
}

// 0.5 (1 + tanh(u)) is the sigmoid of 2 u; 2 u = x (a + b x^2).
constexpr float gelu_a = 1.5957691216f, gelu_b = 0.0713548163f;  // 2 sqrt(2 / pi) and 0.044715 times that

void gelu_forward_row(std::int64_t count, const float* x, float* y) {
  for_each_16<1, 1>(count, {y}, {x}, [](F16(&out)[1], const F16(&in)[1]) HWY_ATTR {
    const F16 u2 = in[0] * mul_add(in[0] * in[0], set16(gelu_b), set16(gelu_a));
    out[0] = in[0] * sigmoid(u2).s;
  });
}

void gelu_backward_row(std::int64_t count, const float* dy, const float* x, float* dx) {
  for_each_16<1, 2>(count, {dx}, {dy, x}, [](F16(&out)[1], const F16(&in)[2]) HWY_ATTR {
    const F16 square = in[1] * in[1];
    const F16 u2 = in[1] * mul_add(square, set16(gelu_b), set16(gelu_a));
    const F16 slope = in[1] * mul_add(square, set16(3 * gelu_b), set16(gelu_a));  // x d(2 u)/dx
    const Sigmoid of = sigmoid(u2);
    out[0] = mul_add(slope * of.rest, of.s, of.s) * in[0];
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {

HWY_EXPORT(swiglu_forward_row);
HWY_EXPORT(swiglu_backward_row);
HWY_EXPORT(gelu_forward_row);
HWY_EXPORT(gelu_backward_row);

constexpr std::int64_t piece = 16384;  // elements, about 20 us

void swiglu_forward(std::int64_t M, std::int64_t F, const float* gate_up, float* h) {
  parallel_pieces(M, rows_per_block(F), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* gate = gate_up + i * 2 * F;
      HWY_DYNAMIC_DISPATCH(swiglu_forward_row)(F, gate, gate + F, h + i * F);
    }
  });
}

void swiglu_backward(std::int64_t M, std::int64_t F, const float* dh, const float* gate_up, float* dgate_up,
                     std::int64_t stride) {
  parallel_pieces(M, rows_per_block(F), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* gate = gate_up + i * 2 * F;
      float* dgate = dgate_up + i * stride;
      HWY_DYNAMIC_DISPATCH(swiglu_backward_row)(F, dh + i * F, gate, gate + F, dgate, dgate + F);
    }
  });
}

void gelu_forward(std::int64_t count, const float* x, float* y) {
  parallel_pieces(count, piece, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_forward_row)(end - begin, x + begin, y + begin);
  });
}

void gelu_backward(std::int64_t M, std::int64_t F, const float* dy, const float* x, float* dx, std::int64_t stride) {
  parallel_pieces(M, rows_per_block(F), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      HWY_DYNAMIC_DISPATCH(gelu_backward_row)(F, dy + i * F, x + i * F, dx + i * stride);
  });
}

}  // namespace troika::cpu
#endif
