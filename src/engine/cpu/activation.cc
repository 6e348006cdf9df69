#include "cpu/rows.h"

#include "cpu/parallel.h"

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

// body(outputs, inputs) for sixteen elements at a time of `count`.
template <std::size_t O, std::size_t I, class Element, class Body>
HWY_INLINE void for_each_16(std::int64_t count, Element* const (&out)[O], const Element* const (&in)[I],
                            const Body& body) {
  const std::int64_t whole = count / 16 * 16, rest = count - whole;
  F16 results[O], inputs[I];
  constexpr std::int64_t ahead = 256;  // memory is asked for before it is needed
  for (std::int64_t j = 0; j < whole; j += 16) {
    for (std::size_t k = 0; k < I; ++k) __builtin_prefetch(in[k] + j + ahead, 0);
    for (std::size_t k = 0; k < O; ++k) __builtin_prefetch(out[k] + j + ahead, 1);
    for (std::size_t k = 0; k < I; ++k) inputs[k] = load16(in[k] + j);
    body(results, inputs);
    for (std::size_t k = 0; k < O; ++k) store16(results[k], out[k] + j);
  }
  if (rest == 0) return;
  for (std::size_t k = 0; k < I; ++k) inputs[k] = load_first(in[k] + whole, rest);
  body(results, inputs);
  for (std::size_t k = 0; k < O; ++k) store_first(results[k], out[k] + whole, rest);
}

// 0.5 (1 + tanh(u)) is the sigmoid of 2 u; 2 u = x (a + b x^2).
constexpr float gelu_a = 1.5957691216f, gelu_b = 0.0713548163f;  // 2 sqrt(2 / pi) and 0.044715 times that

// act(x) is x times the sigmoid of an argument, and act'(x) = s + slope s (1 - s), where slope is x times the argument's derivative.
struct Silu {
  static HWY_INLINE F16 argument(const F16& x) { return x; }
  static HWY_INLINE F16 slope(const F16& x) { return x; }
};
struct Gelu {
  static HWY_INLINE F16 argument(const F16& x) { return x * mul_add(x * x, set16(gelu_b), set16(gelu_a)); }
  static HWY_INLINE F16 slope(const F16& x) { return x * mul_add(x * x, set16(3 * gelu_b), set16(gelu_a)); }
};

template <class Of, class Element>
void gated_forward_row(std::int64_t F, const Element* gate, const Element* up, Element* h) {
  for_each_16<1, 2>(F, {h}, {gate, up},
                    [](F16(&out)[1], const F16(&in)[2]) HWY_ATTR { out[0] = in[0] * sigmoid(Of::argument(in[0])).s * in[1]; });
}

template <class Of, class Element>
void gated_backward_row(std::int64_t F, const Element* dh, const Element* gate, const Element* up, Element* dgate,
                        Element* dup) {
  for_each_16<2, 3>(F, {dgate, dup}, {dh, gate, up}, [](F16(&out)[2], const F16(&in)[3]) HWY_ATTR {
    const Sigmoid of = sigmoid(Of::argument(in[1]));
    out[0] = mul_add(Of::slope(in[1]) * of.s, of.rest, of.s) * in[2] * in[0];
    out[1] = in[1] * of.s * in[0];
  });
}

template <class Element>
void gelu_forward_row(std::int64_t count, const Element* x, Element* y) {
  for_each_16<1, 1>(count, {y}, {x}, [](F16(&out)[1], const F16(&in)[1]) HWY_ATTR {
    const F16 u2 = in[0] * mul_add(in[0] * in[0], set16(gelu_b), set16(gelu_a));
    out[0] = in[0] * sigmoid(u2).s;
  });
}

template <class Element>
void gelu_backward_row(std::int64_t count, const Element* dy, const Element* x, Element* dx) {
  for_each_16<1, 2>(count, {dx}, {dy, x}, [](F16(&out)[1], const F16(&in)[2]) HWY_ATTR {
    const F16 square = in[1] * in[1];
    const F16 u2 = in[1] * mul_add(square, set16(gelu_b), set16(gelu_a));
    const F16 slope = in[1] * mul_add(square, set16(3 * gelu_b), set16(gelu_a));  // x d(2 u)/dx
    const Sigmoid of = sigmoid(u2);
    out[0] = mul_add(slope * of.rest, of.s, of.s) * in[0];
  });
}

// Rows [begin, end).
template <class Of, class Element>
void gated_forward_of(std::int64_t begin, std::int64_t end, std::int64_t F, const Element* gate_up, Element* h) {
  for (std::int64_t i = begin; i < end; ++i) {
    const Element* gate = gate_up + i * 2 * F;
    gated_forward_row<Of>(F, gate, gate + F, h + i * F);
  }
}

template <class Of, class Element>
void gated_backward_of(std::int64_t begin, std::int64_t end, std::int64_t F, const Element* dh, const Element* gate_up,
                       Element* dgate_up, std::int64_t stride) {
  for (std::int64_t i = begin; i < end; ++i) {
    const Element* gate = gate_up + i * 2 * F;
    Element* dgate = dgate_up + i * stride;
    gated_backward_row<Of>(F, dh + i * F, gate, gate + F, dgate, dgate + F);
  }
}

template <class Element>
void gelu_backward_of(std::int64_t begin, std::int64_t end, std::int64_t F, const Element* dy, const Element* x,
                      Element* dx, std::int64_t stride) {
  for (std::int64_t i = begin; i < end; ++i) gelu_backward_row(F, dy + i * F, x + i * F, dx + i * stride);
}

// The arrays as their dtype says.
template <class Element>
HWY_INLINE const Element* as(const void* array) {
  return static_cast<const Element*>(array);
}
template <class Element>
HWY_INLINE Element* as(void* array) {
  return static_cast<Element*>(array);
}

template <class Of>
void gated_forward_as(Dtype dtype, std::int64_t begin, std::int64_t end, std::int64_t F, const void* gate_up, void* h) {
  if (dtype == Dtype::bf16) return gated_forward_of<Of>(begin, end, F, as<Bf16>(gate_up), as<Bf16>(h));
  gated_forward_of<Of>(begin, end, F, as<float>(gate_up), as<float>(h));
}

void gated_forward_rows(Gate gate, Dtype dtype, std::int64_t begin, std::int64_t end, std::int64_t F, const void* gate_up,
                        void* h) {
  if (gate == Gate::silu) return gated_forward_as<Silu>(dtype, begin, end, F, gate_up, h);
  gated_forward_as<Gelu>(dtype, begin, end, F, gate_up, h);
}

template <class Of>
void gated_backward_as(Dtype dtype, std::int64_t begin, std::int64_t end, std::int64_t F, const void* dh,
                       const void* gate_up, void* dgate_up, std::int64_t stride) {
  if (dtype == Dtype::bf16)
    return gated_backward_of<Of>(begin, end, F, as<Bf16>(dh), as<Bf16>(gate_up), as<Bf16>(dgate_up), stride);
  gated_backward_of<Of>(begin, end, F, as<float>(dh), as<float>(gate_up), as<float>(dgate_up), stride);
}

void gated_backward_rows(Gate gate, Dtype dtype, std::int64_t begin, std::int64_t end, std::int64_t F, const void* dh,
                         const void* gate_up, void* dgate_up, std::int64_t stride) {
  if (gate == Gate::silu) return gated_backward_as<Silu>(dtype, begin, end, F, dh, gate_up, dgate_up, stride);
  gated_backward_as<Gelu>(dtype, begin, end, F, dh, gate_up, dgate_up, stride);
}

void gelu_forward_elements(Dtype dtype, std::int64_t begin, std::int64_t end, const void* x, void* y) {
  if (dtype == Dtype::bf16) return gelu_forward_row(end - begin, as<Bf16>(x) + begin, as<Bf16>(y) + begin);
  gelu_forward_row(end - begin, as<float>(x) + begin, as<float>(y) + begin);
}

void gelu_backward_rows(Dtype dtype, std::int64_t begin, std::int64_t end, std::int64_t F, const void* dy,
                        const void* x, void* dx, std::int64_t stride) {
  if (dtype == Dtype::bf16) return gelu_backward_of(begin, end, F, as<Bf16>(dy), as<Bf16>(x), as<Bf16>(dx), stride);
  gelu_backward_of(begin, end, F, as<float>(dy), as<float>(x), as<float>(dx), stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {

HWY_EXPORT(gated_forward_rows);
HWY_EXPORT(gated_backward_rows);
HWY_EXPORT(gelu_forward_elements);
HWY_EXPORT(gelu_backward_rows);

constexpr std::int64_t piece = 16384;  // elements, about 20 us

void gated_forward(Gate gate, const Rows& rows, const void* gate_up, void* h) {
  parallel_pieces(rows.M, rows_per_block(rows.D), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gated_forward_rows)(gate, rows.dtype, begin, end, rows.D, gate_up, h);
  });
}

void gated_backward(Gate gate, const Rows& rows, const void* dh, const void* gate_up, void* dgate_up, std::int64_t stride) {
  parallel_pieces(rows.M, rows_per_block(rows.D), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gated_backward_rows)(gate, rows.dtype, begin, end, rows.D, dh, gate_up, dgate_up, stride);
  });
}

void gelu_forward(const Rows& rows, const void* x, void* y) {
  parallel_pieces(rows.M * rows.D, piece, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_forward_elements)(rows.dtype, begin, end, x, y);
  });
}

void gelu_backward(const Rows& rows, const void* dy, const void* x, void* dx, std::int64_t stride) {
  parallel_pieces(rows.M, rows_per_block(rows.D), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_backward_rows)(rows.dtype, begin, end, rows.D, dy, x, dx, stride);
  });
}

}  // namespace troika::cpu
#endif
