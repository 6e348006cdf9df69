// The element-wise parts of attention on blocks of scores [keys][attention_block queries]: one query per vector lane.
// For files compiled once per SIMD target.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/attention_products-inl.h"
#include "cpu/attention_view.h"
#include "cpu/exp-inl.h"

#if defined(TROIKA_CPU_ATTENTION_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TROIKA_CPU_ATTENTION_SOFTMAX_INL_H_
#undef TROIKA_CPU_ATTENTION_SOFTMAX_INL_H_
#else
#define TROIKA_CPU_ATTENTION_SOFTMAX_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace troika::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A block of scores: `keys` rows of attention_block, of which the first `queries` columns (whole vectors) are worked
// on. Tiles of keys later than all queries of a vector, or of a tile, are left alone. bounds is null where every query
// sees every key.
struct Scores {
  float* data;
  std::int64_t keys, queries, reach;
  const AttentionBounds* bounds;
  std::int64_t keys_for(std::int64_t t) const {
    const auto group =
        std::max<std::int64_t>(static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>())), kTileRows);
    const std::int64_t end = (t / group + 1) * group + reach;  // key that the last of these queries does not see
    return std::clamp<std::int64_t>((end + kTileRows - 1) / kTileRows * kTileRows, 0, keys);
  }
};

// Which lanes of row s see it.
template <class D>
HWY_INLINE hn::Mask<D> seen(D d, const AttentionBounds& bounds, std::int64_t t, std::int64_t s) {
  const auto key = hn::Set(d, static_cast<float>(s));
  return hn::And(hn::Le(hn::Load(d, bounds.first + t), key), hn::Le(key, hn::Load(d, bounds.last + t)));
}

// What a block of queries knows after some of its keys.
struct Running {
  alignas(64) float highest[attention_block], sum[attention_block];  // of scores; of exp(score - highest)
  alignas(64) float factor[attention_block];                         // by which earlier sums shrink
};

HWY_INLINE void begin(Running& running) {
  for (std::int64_t t = 0; t < attention_block; ++t) {
    running.highest[t] = -std::numeric_limits<float>::infinity();
    running.sum[t] = 0;
  }
}

template <class D>
HWY_INLINE hn::Vec<D> hide(D d, const Scores& scores, std::int64_t t, std::int64_t s) {
  float* at = scores.data + s * attention_block + t;
  if (scores.bounds == nullptr) return hn::Load(d, at);
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto score = hn::IfThenElse(seen(d, *scores.bounds, t, s), hn::Load(d, at), lowest);
  hn::Store(score, d, at);
  return score;
}

template <class D>
HWY_INLINE hn::Vec<D> highest_of(D d, const Scores& scores, std::int64_t t, hn::Vec<D> highest) {
  auto other = highest;
  const std::int64_t keys = scores.keys_for(t);
  std::int64_t s = 0;
  for (; s + 2 <= keys; s += 2) {
    highest = hn::Max(highest, hide(d, scores, t, s));
    other = hn::Max(other, hide(d, scores, t, s + 1));
  }
  if (s < keys) highest = hn::Max(highest, hide(d, scores, t, s));
  return hn::Max(highest, other);
}

// Scores become exp(score - highest so far).
HWY_INLINE void online_softmax(const Scores& scores, Running& running) {
  const hn::ScalableTag<float> d;
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (std::int64_t t = 0; t < scores.queries; t += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto before = hn::Load(d, running.highest + t), highest = highest_of(d, scores, t, before);
    // nothing seen yet: subtracting 0 gives exp(-inf)
    const auto shift = hn::IfThenZeroElse(hn::Eq(highest, lowest), highest);
    const auto factor = fast_exp(d, hn::Sub(before, shift));
    auto sum = hn::Mul(hn::Load(d, running.sum + t), factor);
    const std::int64_t keys = scores.keys_for(t);
    for (std::int64_t s = 0; s < keys; ++s) {
      float* at = scores.data + s * attention_block + t;
      const auto weight = fast_exp(d, hn::Sub(hn::Load(d, at), shift));
      hn::Store(weight, d, at);
      sum = hn::Add(sum, weight);
    }
    hn::Store(highest, d, running.highest + t);
    hn::Store(factor, d, running.factor + t);
    hn::Store(sum, d, running.sum + t);
  }
}

// Scores become weights p = exp(score - lse), dp becomes p (dp - dot); both 0 where hidden.
HWY_INLINE void weights_and_their_gradients(const Scores& scores, const float* lse, const float* dot, float* dp) {
  const hn::ScalableTag<float> d;
  for (std::int64_t t = 0; t < scores.queries; t += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto shift = hn::Load(d, lse + t), subtrahend = hn::Load(d, dot + t);
    const std::int64_t keys = scores.keys_for(t);
    for (std::int64_t s = 0; s < keys; ++s) {
      const std::int64_t i = s * attention_block + t;
      auto weight = fast_exp(d, hn::Sub(hn::Load(d, scores.data + i), shift));
      auto gradient = hn::Mul(weight, hn::Sub(hn::Load(d, dp + i), subtrahend));
      if (scores.bounds != nullptr) {
        const auto mask = seen(d, *scores.bounds, t, s);
        weight = hn::IfThenElseZero(mask, weight);
        gradient = hn::IfThenElseZero(mask, gradient);
      }
      hn::Store(weight, d, scores.data + i);
      hn::Store(gradient, d, dp + i);
    }
  }
}

}  // namespace troika::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
