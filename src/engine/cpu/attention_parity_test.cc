#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/random.h"
#include "cpu/attention.h"
#include "cpu/gemm.h"
#include "cpu/parallel.h"
#include "cpu/targets_test_support.h"

namespace troika::cpu {
namespace {

struct AttentionCase {
  std::int64_t k, H;
  std::vector<std::int64_t> kv_of_head;
  std::vector<AttentionPart> parts;
  std::int64_t behind = 0;  // rows of queries and of keys behind those of the parts
};

// B times T queries and S keys.
std::vector<AttentionPart> alike(std::int64_t B, std::int64_t T, std::int64_t S, std::int64_t reach = 0) {
  std::vector<AttentionPart> parts;
  for (std::int64_t b = 0; b < B; ++b) parts.push_back({b * T, T, b * S, S, reach});
  return parts;
}

// Sequences of these lengths, end to end.
std::vector<AttentionPart> of_lengths(const std::vector<std::int64_t>& lengths) {
  std::vector<AttentionPart> parts;
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    parts.push_back({begin, length, begin, length, 0});
    begin += length;
  }
  return parts;
}

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::vector<float> normal(std::int64_t count, const char* name) {
  std::vector<float> x(index(count));
  base::Philox(7, name).fill_normal(0, count, x.data());
  for (float& one : x) one = std::nearbyint(one * 32) / 32;
  return x;
}

// The upper halves of floats whose lower halves are 0.
std::vector<Bf16> halves_of(const std::vector<float>& x) {
  std::vector<Bf16> halves(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, &x[i], sizeof(bits));
    halves[i].bits = static_cast<std::uint16_t>(bits >> 16);
  }
  return halves;
}

// k and v lie side by side in one row, so both are strided. All numbers are exact in bf16.
struct Problem {
  explicit Problem(const AttentionCase& c) : kv_of_head(c.kv_of_head) {
    op.n = static_cast<std::int64_t>(c.kv_of_head.size());
    op.k = c.k;
    op.H = c.H;
    op.kv_of_head = kv_of_head.data();
    op.parts = c.parts;
    for (const AttentionPart& part : c.parts) {
      op.M = std::max(op.M, part.q_begin + part.T);
      op.N = std::max(op.N, part.k_begin + part.S);
    }
    op.M += c.behind;
    op.N += c.behind;
    op.scale = 1 / std::sqrt(static_cast<double>(c.H));
    q = normal(op.M * op.n * c.H, "q");
    kv = normal(op.N * 2 * c.k * c.H, "kv");
    dout = normal(op.M * op.n * c.H, "dout");
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  FloatHeads keys() const { return {kv.data(), 0, 2 * op.k * op.H, op.H}; }
  FloatHeads values() const { return {kv.data() + op.k * op.H, 0, 2 * op.k * op.H, op.H}; }
  bool sees(std::int64_t query, std::int64_t key) const {
    return std::any_of(op.parts.begin(), op.parts.end(), [&](const AttentionPart& part) {
      const std::int64_t t = query - part.q_begin, s = key - part.k_begin;
      return t >= 0 && t < part.T && s >= 0 && s < part.S && s <= t + part.reach;
    });
  }

  Attention op;
  std::vector<std::int64_t> kv_of_head;
  std::vector<float> q, kv, dout;
};

template <class Float, class Vector>
FloatHeadView<Float> dense(Vector& x, std::int64_t heads, std::int64_t H) {
  return {x.data(), 0, heads * H, H};
}

template <class Float>
struct Results {
  explicit Results(const Attention& op)
      : out(index(op.M * op.n * op.H), Float(3)),
        lse(index(op.n * op.M)),
        dq(out),
        dk(index(op.N * op.k * op.H), Float(3)),
        dv(dk) {}
  bool operator==(const Results& other) const {
    return out == other.out && lse == other.lse && dq == other.dq && dk == other.dk && dv == other.dv;
  }
  std::vector<Float> out, lse, dq, dk, dv;
};

Results<float> run(const Problem& p) {
  const Attention& op = p.op;
  Results<float> r(op);
  const FloatHeads q = dense<const float>(p.q, op.n, op.H), dout = dense<const float>(p.dout, op.n, op.H);
  attention_forward(op, q, p.keys(), p.values(), dense<float>(r.out, op.n, op.H), r.lse.data());
  attention_backward(op, q, p.keys(), p.values(), {dense<const float>(r.out, op.n, op.H), dout, r.lse.data()},
                     dense<float>(r.dq, op.n, op.H), dense<float>(r.dk, op.k, op.H),
                     dense<float>(r.dv, op.k, op.H));
  return r;
}

// The same heads as halves; results in floats.
Results<float> run_of_halves(const Problem& p) {
  const Attention& op = p.op;
  const std::vector<Bf16> q = halves_of(p.q), kv = halves_of(p.kv), dout = halves_of(p.dout);
  const auto view = [&](const std::vector<Bf16>& x, std::int64_t first, std::int64_t heads) {
    return Heads{x.data() + first, 0, heads * op.H, op.H, Dtype::bf16};
  };
  const Heads queries = view(q, 0, op.n), keys = view(kv, 0, 2 * op.k), values = view(kv, op.k * op.H, 2 * op.k);
  Results<float> r(op);
  attention_forward(op, queries, keys, values, dense<float>(r.out, op.n, op.H), r.lse.data());
  attention_backward(
      op, queries, keys, values, {dense<const float>(r.out, op.n, op.H), view(dout, 0, op.n), r.lse.data()},
      dense<float>(r.dq, op.n, op.H), dense<float>(r.dk, op.k, op.H), dense<float>(r.dv, op.k, op.H));
  return r;
}

double dot(const float* x, const float* y, std::int64_t H) {
  double sum = 0;
  for (std::int64_t h = 0; h < H; ++h) sum += static_cast<double>(x[h]) * static_cast<double>(y[h]);
  return sum;
}

void add(double factor, const float* x, std::int64_t H, double* sum) {
  for (std::int64_t h = 0; h < H; ++h) sum[h] += factor * static_cast<double>(x[h]);
}

// One query at a time by the definition, in double.
void exact_query(const Problem& p, std::int64_t t, std::int64_t head, Results<double>& r) {
  const Attention& op = p.op;
  const std::int64_t row = (t * op.n + head) * op.H, kv = p.kv_of_head[index(head)];
  const float *q = p.q.data() + row, *dout = p.dout.data() + row;
  std::vector<double> weight(index(op.N));
  double sum = 0, dout_out = 0;
  for (std::int64_t s = 0; s < op.N; ++s)
    if (p.sees(t, s)) sum += weight[index(s)] = std::exp(op.scale * dot(q, p.keys().at(0, s, kv), op.H));
  r.lse[index(head * op.M + t)] = std::log(sum);
  for (std::int64_t s = 0; s < op.N; ++s) {
    if (!p.sees(t, s)) continue;
    weight[index(s)] /= sum;
    add(weight[index(s)], p.values().at(0, s, kv), op.H, r.out.data() + row);
    dout_out += weight[index(s)] * dot(dout, p.values().at(0, s, kv), op.H);
  }
  for (std::int64_t s = 0; s < op.N; ++s) {
    const double w = weight[index(s)];
    if (w == 0) continue;
    const double ds = op.scale * w * (dot(dout, p.values().at(0, s, kv), op.H) - dout_out);
    const std::int64_t key_row = (s * op.k + kv) * op.H;
    add(w, dout, op.H, r.dv.data() + key_row);
    add(ds, q, op.H, r.dk.data() + key_row);
    add(ds, p.keys().at(0, s, kv), op.H, r.dq.data() + row);
  }
}

Results<double> exact(const Problem& p) {
  Results<double> r(p.op);
  for (std::vector<double>* x : {&r.out, &r.dq, &r.dk, &r.dv}) std::fill(x->begin(), x->end(), 0.0);
  for (std::int64_t t = 0; t < p.op.M; ++t)
    for (std::int64_t head = 0; head < p.op.n; ++head) exact_query(p, t, head, r);
  return r;
}

// Relative to the largest value; where all are zero to within double's rounding, absolute.
void expect_close(const char* name, const std::vector<float>& got, const std::vector<double>& want,
                  double tolerance = 1e-5) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto x = static_cast<double>(got[i]);
    if (x == want[i]) continue;  // infinities too
    worst = std::isfinite(x) ? std::max(worst, std::abs(x - want[i])) : std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(want[i]));
  }
  EXPECT_LE(worst, tolerance * (largest < 1e-12 ? 1 : largest)) << name;
}

void expect_exact(const AttentionCase& c) {
  const Problem p(c);
  const Results<double> want = exact(p);
  on_every_target([&] {
    const Results<float> got = run(p);
    expect_close("out", got.out, want.out);
    expect_close("lse", got.lse, want.lse);
    expect_close("dq", got.dq, want.dq);
    expect_close("dk", got.dk, want.dk);
    expect_close("dv", got.dv, want.dv);
    // Where halves are multiplied the weights and their gradients, which cancel, are rounded to halves.
    const bool rounded = multiplies_halves() && c.H % 2 == 0 && (hwy::SupportedTargets() & HWY_AVX3) != 0;
    const double tolerance = rounded ? 0x1p-7 : 1e-5;
    const Results<float> halves = run_of_halves(p);
    expect_close("out of halves", halves.out, want.out, tolerance);
    expect_close("lse of halves", halves.lse, want.lse);
    expect_close("dq of halves", halves.dq, want.dq, tolerance);
    expect_close("dk of halves", halves.dk, want.dk, tolerance);
    expect_close("dv of halves", halves.dv, want.dv, tolerance);
  });
}

TEST(Attention, IsExactForSizesAroundBlocksTilesAndVectors) {
  for (const std::int64_t T : {1, 15, 64, 65, 130})
    for (const std::int64_t H : {1, 3, 16, 33}) expect_exact({1, H, {0, 0}, alike(1, T, T)});
  expect_exact({2, 40, {0, 1}, alike(1, 257, 257)});
  expect_exact({1, 256, {0}, alike(1, 40, 40)});
}

TEST(Attention, OfPairsIsExactForSizesAroundBlocksTilesAndVectors) {
  for (const std::int64_t T : {2, 31, 63, 66, 131})
    for (const std::int64_t H : {2, 14, 34, 64}) expect_exact({1, H, {0, 0}, alike(1, T, T)});
  for (const std::int64_t reach : {-255, -37, -3, 5, 64, 131}) expect_exact({1, 6, {0}, alike(1, 150, 201, reach)});
}

TEST(Attention, OfTilesIsExactForSizesAroundBlocksAndTiles) {
  for (const std::int64_t T : {1, 2, 15, 16, 17, 31, 33, 48, 63, 64, 65, 97, 131, 300}) expect_exact({1, 32, {0, 0}, alike(1, T, T)});
  for (const std::int64_t H : {64, 96, 128, 256}) expect_exact({1, H, {0}, alike(1, 70, 70)});
  for (const std::int64_t reach : {-255, -64, -37, -16, -3, 1, 5, 30, 64, 131}) expect_exact({1, 32, {0}, alike(1, 150, 201, reach)});
  for (const std::int64_t S : {1, 9, 33, 100}) expect_exact({1, 32, {0}, alike(1, 20, S, S)});
  expect_exact({2, 32, {0, 1, 1}, of_lengths({1, 2, 63, 64, 65, 300})});
}

TEST(Attention, IsExactForEveryReach) {
  for (const std::int64_t reach : {-600, -255, -64, -37, -3, 5, 64, 200, 300}) expect_exact({1, 5, {0}, alike(1, 150, 290, reach)});
  expect_exact({2, 16, {0, 0, 1, 1}, alike(2, 1, 333, 332)});
  expect_exact({2, 16, {0, 1}, alike(1, 333, 1, -100)});
  expect_exact({1, 8, {0}, alike(1, 600, 300, -290)});
}

TEST(Attention, IsExactForSequencesOfAnyLength) {
  expect_exact({1, 8, {0}, of_lengths({1, 2, 63, 64, 65, 300})});
  expect_exact({2, 16, {0, 0, 1}, of_lengths({1, 1, 1, 7, 130, 5, 64, 20})});
  expect_exact({1, 8, {0}, {{100, 60, 0, 90, 31}, {0, 30, 95, 200, -12}, {170, 3, 300, 5, 5}}, 4});  // in any order, with gaps
  expect_exact({1, 8, {0, 0}, {}, 3});
}

TEST(Attention, IsExactForUnevenMapsOfHeads) {
  expect_exact({3, 8, {2, 0, 2, 2, 0}, alike(2, 70, 70)});  // nobody reads head 1
  expect_exact({2, 8, {1, 1, 1, 0, 1}, alike(1, 300, 300)});
}

AttentionCase large(std::int64_t H) { return {2, H, {0, 0, 1, 0}, of_lengths({700, 90, 5, 330})}; }
constexpr std::int64_t of_pairs = 24, of_tiles = 32;

void expect_the_same_bits_for_every_number_of_threads(std::int64_t H) {
  const Problem p(large(H));
  const int before = threads();
  set_threads(1);
  const Results<float> one = run(p), halves = run_of_halves(p);
  for (const int threads : {1, 2, 3, 8}) {
    set_threads(threads);
    EXPECT_TRUE(run(p) == one) << threads;
    EXPECT_TRUE(run_of_halves(p) == halves) << threads;
  }
  set_threads(before);
}

TEST(Attention, GivesTheSameBitsForEveryNumberOfThreads) {
  for (const std::int64_t H : {of_pairs, of_tiles}) expect_the_same_bits_for_every_number_of_threads(H);
}

void expect_the_same_bits_beside_any_others(const AttentionCase& c) {
  const Problem p(c);
  const std::int64_t n = p.op.n, H = c.H;
  for (const AttentionPart& part : c.parts) {
    Problem one({c.k, H, c.kv_of_head, alike(1, part.T, part.S)});
    const auto rows_of = [&](const std::vector<float>& x, std::int64_t width) {
      const std::vector<float> own(x.begin() + part.q_begin * width, x.begin() + (part.q_begin + part.T) * width);
      return own;
    };
    one.q = rows_of(p.q, n * H);
    one.dout = rows_of(p.dout, n * H);
    one.kv = rows_of(p.kv, 2 * c.k * H);
    for (const auto& results : {run, run_of_halves}) {
      const Results<float> all = results(p), alone = results(one);
      EXPECT_EQ(rows_of(all.out, n * H), alone.out) << part.T;
      EXPECT_EQ(rows_of(all.dq, n * H), alone.dq) << part.T;
      EXPECT_EQ(rows_of(all.dk, c.k * H), alone.dk) << part.T;
      EXPECT_EQ(rows_of(all.dv, c.k * H), alone.dv) << part.T;
      for (std::int64_t head = 0; head < n; ++head)
        for (std::int64_t t = 0; t < part.T; ++t)
          ASSERT_EQ(all.lse[index(head * p.op.M + part.q_begin + t)], alone.lse[index(head * part.T + t)]);
    }
  }
}

TEST(Attention, OfASequenceHasTheSameBitsBesideAnyOthers) {
  for (const std::int64_t H : {of_pairs, of_tiles}) expect_the_same_bits_beside_any_others(large(H));
}

TEST(Attention, LetsNotANumberThrough) {
  Problem p({1, 8, {0}, alike(1, 70, 70)});
  p.q[65 * 8] = std::numeric_limits<float>::quiet_NaN();
  const Results<float> r = run(p);
  EXPECT_TRUE(std::isnan(r.lse[65]));
  EXPECT_TRUE(std::isnan(r.out[65 * 8]));
  EXPECT_TRUE(std::isnan(r.dq[65 * 8]));
  EXPECT_FALSE(std::isnan(r.out[64 * 8]));
}

}  // namespace
}  // namespace troika::cpu
