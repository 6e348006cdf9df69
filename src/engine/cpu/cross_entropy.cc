#include "cpu/rows.h"

#include <algorithm>
#include <limits>

#include "base/exact_math.h"
#include "cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/cross_entropy.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/exp-inl.h"
#include "cpu/lanes16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

HWY_INLINE F16 max16(const F16& a, const F16& b) {
  return map([](PartVec x, PartVec y) HWY_ATTR { return hn::Max(x, y); }, a, b);
}

HWY_INLINE F16 exp16(const F16& a) {
  return map([](PartVec x) HWY_ATTR { return fast_exp(Part(), x); }, a);
}

// Fewer than 16 values, then -infinity: nothing to a maximum and to a sum of exponentials.
HWY_INLINE F16 load_some(const float* x, std::int64_t count) {
  float copy[16];
  std::fill(std::copy_n(x, count, copy), copy + 16, -infinity);
  return load16(copy);
}

HWY_INLINE float largest(const float* x, std::int64_t count) {
  const std::int64_t whole = count / 16 * 16;
  F16 many = load_some(x + whole, count - whole);
  std::int64_t j = 0;
  for (; j + 64 <= whole; j += 64) {  // one step of the chain for four loads
    const F16 first = max16(load16(x + j), load16(x + j + 16)), second = max16(load16(x + j + 32), load16(x + j + 48));
    many = max16(many, max16(first, second));
  }
  for (; j < whole; j += 16) many = max16(many, load16(x + j));
  float lanes[16];
  store16(many, lanes);
  return *std::max_element(lanes, lanes + 16);
}

// `next` is what will be read afterwards, at least `count` values; memory then works during the arithmetic.
HWY_INLINE float sum_of_exponentials(const float* x, std::int64_t count, float shift, const float* next) {
  const std::int64_t whole = count / 16 * 16;
  F16 total = exp16(load_some(x + whole, count - whole) - set16(shift));
  for (std::int64_t j = 0; j < whole; j += 16) {
    hwy::Prefetch(next + j);
    total = total + exp16(load16(x + j) - set16(shift));
  }
  return sum(total);
}

// In blocks that stay in the first-level cache between the search for the largest value and the sum. What was summed is
// relative to exp(most), which grows.
float log_sum_exp(const float* x, std::int64_t v) {
  constexpr std::int64_t block = 2048;
  float most = -infinity;
  double total = 0;
  for (std::int64_t begin = 0; begin < v; begin += block) {
    const std::int64_t count = std::min(block, v - begin);
    const float before = most;
    most = std::max(most, largest(x + begin, count));
    if (before > -infinity) total *= base::exp(static_cast<double>(before) - static_cast<double>(most));
    const float* next = begin + 2 * block <= v ? x + begin + block : x + begin;
    total += static_cast<double>(sum_of_exponentials(x + begin, count, most > -infinity ? most : 0, next));
  }
  return static_cast<float>((most > -infinity ? static_cast<double>(most) : 0) + base::log(total));
}

void log_sum_exps(const LogitRows& rows, const float* x, float* lse) {
  for (std::int64_t i = 0; i < rows.M; ++i) lse[i] = log_sum_exp(x + i * rows.stride, rows.v);
}

// A row is still in the second-level cache when it is kept.
void log_sum_exps_kept(const LogitRows& rows, const float* x, float* lse, Bf16* kept) {
  for (std::int64_t i = 0; i < rows.M; ++i) {
    const float* row = x + i * rows.stride;
    lse[i] = log_sum_exp(row, rows.v);
    for (std::int64_t j = 0; j < rows.v; j += 16)
      store_first(load_first(row + j, rows.v - j) - set16(lse[i]), kept + i * rows.v + j, rows.v - j);
  }
}

// Ascending, so d may begin where x does.
template <class Logit, class Gradient>
void gradient_row(std::int64_t v, const Logit* x, Gradient* d, float lse, std::int64_t target, float scale) {
  const bool here = target >= 0 && target < v;
  const float logit = here ? to_float(x[target]) : 0;
  for (std::int64_t j = 0; j < v; j += 16)
    store_first(set16(scale) * exp16(load_first(x + j, v - j) - set16(lse)), d + j, v - j);
  if (!here) return;
  float lanes[16];
  store16(exp16(set16(logit - lse)), lanes);
  store_first(set16(scale * (lanes[0] - 1.0f)), d + target, 1);
}

template <class Logit, class Gradient>
void gradient_rows_of(const LogitRows& rows, void* x, const float* lse, const std::int64_t* target,
                      const float* scale) {
  for (std::int64_t i = 0; i < rows.M; ++i) {
    Logit* row = static_cast<Logit*>(x) + i * rows.stride;
    gradient_row(rows.v, row, reinterpret_cast<Gradient*>(row), lse[i], target[i], scale[i]);
  }
}

void gradient_rows(const LogitRows& rows, const LogitDtypes& dtypes, void* x, const float* lse,
                   const std::int64_t* target, const float* scale) {
  if (dtypes.logits == Dtype::bf16) return gradient_rows_of<Bf16, Bf16>(rows, x, lse, target, scale);
  if (dtypes.gradient == Dtype::bf16) return gradient_rows_of<float, Bf16>(rows, x, lse, target, scale);
  gradient_rows_of<float, float>(rows, x, lse, target, scale);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {
namespace {

HWY_EXPORT(log_sum_exps);
HWY_EXPORT(log_sum_exps_kept);
HWY_EXPORT(gradient_rows);

std::int64_t rows_of_piece(std::int64_t v) { return std::max<std::int64_t>(1, (1 << 15) / v); }

}  // namespace

void log_sum_exp_rows(const LogitRows& rows, const float* x, float* lse) {
  const auto piece = HWY_DYNAMIC_DISPATCH(log_sum_exps);
  parallel_pieces(rows.M, rows_of_piece(rows.v), [&](std::int64_t begin, std::int64_t end) {
    piece({end - begin, rows.v, rows.stride}, x + begin * rows.stride, lse + begin);
  });
}

void log_sum_exp_rows(const LogitRows& rows, const float* x, float* lse, Bf16* kept) {
  const auto piece = HWY_DYNAMIC_DISPATCH(log_sum_exps_kept);
  parallel_pieces(rows.M, rows_of_piece(rows.v), [&](std::int64_t begin, std::int64_t end) {
    piece({end - begin, rows.v, rows.stride}, x + begin * rows.stride, lse + begin, kept + begin * rows.v);
  });
}

void cross_entropy_gradient_rows(const LogitRows& rows, const LogitDtypes& dtypes, void* x, const float* lse,
                                 const std::int64_t* target, const float* scale) {
  const auto piece = HWY_DYNAMIC_DISPATCH(gradient_rows);
  parallel_pieces(rows.M, rows_of_piece(rows.v), [&](std::int64_t begin, std::int64_t end) {
    piece({end - begin, rows.v, rows.stride}, dtypes, at(x, begin * rows.stride, dtypes.logits), lse + begin,
          target + begin, scale + begin);
  });
}

}  // namespace troika::cpu
#endif  // HWY_ONCE
