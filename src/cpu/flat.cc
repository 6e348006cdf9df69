#include "cpu/flat.h"

#include <algorithm>

#include "cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/flat.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/square_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The elements [i, end) in steps of d's lanes, as many whole steps as there are; returns where it stopped. Products and
// sums stay apart (no MulAdd), so that an element has the same bits in a vector of any width.
template <class D>
HWY_INLINE std::int64_t adamw_steps(D d, const AdamWNumbers& a, std::int64_t i, std::int64_t end, float* parameter,
                                    const float* gradient, float* m, float* v) {
  const auto scaled = [d](auto x, float by) HWY_ATTR { return hn::Mul(x, hn::Set(d, by)); };
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= end; i += lanes) {
    const auto g = scaled(hn::LoadU(d, gradient + i), a.gradient_scale);
    const auto new_m = hn::Add(scaled(hn::LoadU(d, m + i), a.beta1), scaled(g, a.one_minus_beta1));
    const auto new_v = hn::Add(scaled(hn::LoadU(d, v + i), a.beta2), scaled(hn::Mul(g, g), a.one_minus_beta2));
    const auto divisor = hn::Add(hn::Sqrt(scaled(new_v, a.v_correction)), hn::Set(d, a.eps));
    const auto update = scaled(hn::Div(scaled(new_m, a.m_correction), divisor), a.lr);
    hn::StoreU(new_m, d, m + i);
    hn::StoreU(new_v, d, v + i);
    hn::StoreU(hn::Sub(scaled(hn::LoadU(d, parameter + i), a.decay), update), d, parameter + i);
  }
  return i;
}

void adamw_piece(const AdamWNumbers& a, std::int64_t begin, std::int64_t end, float* parameter, const float* gradient,
                 float* m, float* v) {
  const std::int64_t whole = adamw_steps(hn::ScalableTag<float>(), a, begin, end, parameter, gradient, m, v);
  adamw_steps(hn::CappedTag<float, 1>(), a, whole, end, parameter, gradient, m, v);
}

void chunk_squares_piece(std::int64_t count, const float* x, std::int64_t chunk, double* squares) {
  for (std::int64_t i = 0; i < count; i += chunk) squares[i / chunk] = square_sum(std::min(chunk, count - i), x + i);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {
namespace {

HWY_EXPORT(adamw_piece);
HWY_EXPORT(chunk_squares_piece);

constexpr std::int64_t piece_elements = 1 << 16;

}  // namespace

void add_into(std::int64_t count, float* sum, const float* other) {
  parallel_pieces(count, piece_elements, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sum[i] += other[i];
  });
}

void chunk_squares(std::int64_t count, const float* x, std::int64_t chunk, double* squares) {
  const std::int64_t piece = std::max<std::int64_t>(1, piece_elements / chunk) * chunk;
  const auto of_piece = HWY_DYNAMIC_DISPATCH(chunk_squares_piece);
  parallel_pieces(count, piece, [=](std::int64_t begin, std::int64_t end) {
    of_piece(end - begin, x + begin, chunk, squares + begin / chunk);
  });
}

void adamw(const AdamWNumbers& a, std::int64_t count, float* parameter, const float* gradient, float* m, float* v) {
  const auto of_piece = HWY_DYNAMIC_DISPATCH(adamw_piece);
  parallel_pieces(count, piece_elements, [&, of_piece](std::int64_t begin, std::int64_t end) {
    of_piece(a, begin, end, parameter, gradient, m, v);
  });
}

}  // namespace troika::cpu
#endif  // HWY_ONCE
