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

constexpr float log2_of_e = 1.44269504f;

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
  // Matrix units multiply whole tiles of 32 keys and queries: up to this key the weights of these queries are 0.
  std::int64_t zeros_for(std::int64_t t) const {
    const std::int64_t end = (t / 32 + 1) * 32 + reach;
    return std::clamp<std::int64_t>((end + 31) / 32 * 32, 0, (keys + 31) / 32 * 32);
  }
};

// The lanes of row s that see it.
template <class D>
HWY_INLINE hn::Mask<D> seen(D d, const AttentionBounds& bounds, std::int64_t t, std::int64_t s) {
  const auto key = hn::Set(d, static_cast<float>(s));
  return hn::And(hn::Le(key, hn::Load(d, bounds.last + t)), hn::Ge(key, hn::Load(d, bounds.first + t)));
}

// The running state of a block of queries after some of its keys.
struct Running {
  alignas(64) float highest[attention_block],
      sum[attention_block];                   // of scores, as powers of two; of 2^(score - highest)
  alignas(64) float factor[attention_block];  // by which earlier sums shrink
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

// Scores times `scale`, as powers of two, become 2^(score - highest so far), in words along the keys; weights may be scores.data.
template <class Kind>
HWY_INLINE void online_softmax(const Scores& scores, float scale, Running& running, typename Kind::Word* weights) {
  const hn::ScalableTag<float> d;
  const auto factor_of_scores = hn::Set(d, scale * log2_of_e),
             lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (std::int64_t t = 0; t < scores.queries; t += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto before = hn::Load(d, running.highest + t);
    const auto highest = hn::Max(before, hn::Mul(factor_of_scores, highest_of(d, scores, t, lowest)));
    // nothing seen yet: subtracting 0 gives 2^-inf
    const auto shift = hn::IfThenZeroElse(hn::Eq(highest, lowest), highest);
    const auto factor = fast_exp2(d, hn::Sub(before, shift));
    auto sum = hn::Mul(hn::Load(d, running.sum + t), factor);
    const std::int64_t keys = scores.keys_for(t);
    for (std::int64_t s = 0; s < keys; s += Kind::kPerWord) {
      hn::Vec<decltype(d)> weight[Kind::kPerWord];
      for (std::int64_t i = 0; i < Kind::kPerWord; ++i) {
        weight[i] = hn::Zero(d);
        if (s + i >= keys) break;
        const auto score = hn::Load(d, scores.data + (s + i) * attention_block + t);
        weight[i] = fast_exp2(d, hn::MulSub(factor_of_scores, score, shift));
        sum = hn::Add(sum, weight[i]);
      }
      Kind::store_columns(d, weight, weights + s / Kind::kPerWord * attention_block + t);
    }
    if constexpr (Kind::kTiles) {
      for (std::int64_t s = words<Kind>(keys); s < words<Kind>(scores.zeros_for(t)); ++s)
        std::fill_n(weights + s * attention_block + t, hn::Lanes(d), 0u);
    }
    hn::Store(highest, d, running.highest + t);
    hn::Store(factor, d, running.factor + t);
    hn::Store(sum, d, running.sum + t);
  }
}

// Weights p = exp(scale score - lse) and their gradients ds = p (dp - dot), both 0 where hidden, in words along the
// queries, [keys][attention_block words]: p may be scores.data, ds may be dp. ds_columns: ds in words along the keys;
// for floats that is ds.
template <class Kind>
struct Weighed {
  typename Kind::Word *p, *ds, *ds_columns;
};

template <class Kind>
HWY_INLINE void weights_and_their_gradients(const Scores& scores, float scale, const float* lse, const float* dot,
                                            const float* dp, const Weighed<Kind>& to) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, scale * log2_of_e), log2_e = hn::Set(d, log2_of_e);
  for (std::int64_t t = 0; t < scores.queries; t += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto shift = hn::Mul(hn::Load(d, lse + t), log2_e), subtrahend = hn::Load(d, dot + t);
    const std::int64_t keys = scores.keys_for(t);
    for (std::int64_t s = 0; s < keys; s += Kind::kPerWord) {
      hn::Vec<decltype(d)> weight[Kind::kPerWord], gradient[Kind::kPerWord];
      for (std::int64_t i = 0; i < Kind::kPerWord; ++i) {
        weight[i] = gradient[i] = hn::Zero(d);
        if (s + i >= keys) break;
        const std::int64_t from = (s + i) * attention_block + t;
        weight[i] = fast_exp2(d, hn::MulSub(factor, hn::Load(d, scores.data + from), shift));
        gradient[i] = hn::Mul(weight[i], hn::Sub(hn::Load(d, dp + from), subtrahend));
        if (scores.bounds == nullptr) continue;
        const auto mask = seen(d, *scores.bounds, t, s + i);
        weight[i] = hn::IfThenElseZero(mask, weight[i]);
        gradient[i] = hn::IfThenElseZero(mask, gradient[i]);
      }
      const std::int64_t row = s * attention_block + t / Kind::kPerWord;
      Kind::store_rows(d, weight, to.p + row, attention_block);
      Kind::store_rows(d, gradient, to.ds + row, attention_block);
      if (Kind::kPerWord > 1)
        Kind::store_columns(d, gradient, to.ds_columns + s / Kind::kPerWord * attention_block + t);
    }
    if constexpr (Kind::kTiles) {
      for (std::int64_t s = words<Kind>(keys); s < words<Kind>(scores.zeros_for(t)); ++s) {
        std::fill_n(to.ds_columns + s * attention_block + t, hn::Lanes(d), 0u);
        for (const std::int64_t row : {2 * s * attention_block, (2 * s + 1) * attention_block}) {
          std::fill_n(to.p + row + t / Kind::kPerWord, hn::Lanes(d) / 2, 0u);
          std::fill_n(to.ds + row + t / Kind::kPerWord, hn::Lanes(d) / 2, 0u);
        }
      }
    }
  }
}

}  // namespace troika::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
