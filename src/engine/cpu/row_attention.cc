#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/row_attention.cc"
#include "cpu/attention.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "cpu/exp-inl.h"
#include "cpu/lanes16-inl.h"
#include "cpu/arrays.h"
#include "cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {

HWY_INLINE float dot(const float* a, const float* b, std::int64_t H) {
  F16 products = set16(0);
  for (std::int64_t h = 0; h < H; h += 16)
    products = mul_add(load_first(a + h, H - h), load_first(b + h, H - h), products);
  return sum(products);
}

// Scores become e^(score - highest), and zeros up to a whole number of 16. Returns their sum.
HWY_INLINE float soften(float* scores, std::int64_t S) {
  const std::int64_t width = padded_width(S);
  const F16 highest = set16(*std::max_element(scores, scores + S));
  std::fill(scores + S, scores + width, -std::numeric_limits<float>::infinity());
  F16 sums = set16(0);
  for (std::int64_t s = 0; s < width; s += 16) {
    const F16 e = map([](PartVec x) HWY_ATTR { return fast_exp(Part(), x); }, load16(scores + s) - highest);
    store16(e, scores + s);
    sums = sums + e;
  }
  return sum(sums);
}

// out[h] = factor * the sum of weights[s] * v[s][h] for h in [h, h + 16 vectors).
template <int vectors>
HWY_INLINE void weighted_sum(const CachedSequence& sequence, std::int64_t kv, const float* weights, float factor,
                             std::int64_t h, std::int64_t H, float* out) {
  F16 sums[vectors];
  for (int i = 0; i < vectors; ++i) sums[i] = set16(0);
  const float* v = sequence.v.at(0, 0, kv) + h;
  for (std::int64_t s = 0; s < sequence.S; ++s, v += sequence.v.row_stride) {
    const F16 weight = set16(weights[s]);
    for (int i = 0; i < vectors; ++i) sums[i] = mul_add(weight, load_first(v + 16 * i, H - h - 16 * i), sums[i]);
  }
  for (int i = 0; i < vectors; ++i) {
    float copy[16];
    store16(sums[i] * set16(factor), copy);
    std::copy_n(copy, std::min<std::int64_t>(16, H - h - 16 * i), out + h + 16 * i);
  }
}

// The query heads that read key/value head kv.
void attend_rows_of_head(const RowAttention& op, const CachedSequence& sequence, std::int64_t kv, const float* q_nH,
                         float* out_nH) {
  const std::int64_t group = op.n / op.k, first = kv * group, width = padded_width(sequence.S);
  std::vector<float> scores(static_cast<std::size_t>(group * width));
  const auto scale = static_cast<float>(op.scale);
  for (std::int64_t s = 0; s < sequence.S; ++s) {
    const float* key = sequence.k.at(0, s, kv);
    for (std::int64_t i = 0; i < group; ++i)
      scores[static_cast<std::size_t>(i * width + s)] = scale * dot(q_nH + (first + i) * op.H, key, op.H);
  }
  for (std::int64_t i = 0; i < group; ++i) {
    float* weights = scores.data() + i * width;
    const float factor = 1 / soften(weights, sequence.S);
    float* out = out_nH + (first + i) * op.H;
    constexpr int together = 4;
    std::int64_t h = 0;
    for (; h + 16 * together <= op.H; h += 16 * together)
      weighted_sum<together>(sequence, kv, weights, factor, h, op.H, out);
    for (; h < op.H; h += 16) weighted_sum<1>(sequence, kv, weights, factor, h, op.H, out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {

HWY_EXPORT(attend_rows_of_head);

void attend_rows(const RowAttention& op, const std::vector<CachedSequence>& sequences, const float* q_BnH,
                 float* out_BnH) {
  parallel_for(static_cast<std::int64_t>(sequences.size()) * op.k, [&](std::int64_t i) {
    const std::int64_t b = i / op.k, row = b * op.n * op.H;
    HWY_DYNAMIC_DISPATCH(attend_rows_of_head)
    (op, sequences[static_cast<std::size_t>(b)], i % op.k, q_BnH + row, out_BnH + row);
  });
}

}  // namespace troika::cpu
#endif
