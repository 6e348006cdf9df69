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
  std::int64_t B, T, S, k, H;
  std::vector<std::int64_t> kv_of_head;
  std::int64_t q_offset = 0, k_offset = 0;
  std::int64_t document = 0;  // length of documents; 0: no bounds
};

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
  explicit Problem(const AttentionCase& c)
      : op{c.B, c.T, c.S, static_cast<std::int64_t>(c.kv_of_head.size()), c.k, c.H},
        kv_of_head(c.kv_of_head),
        q(normal(c.B * c.T * op.n * c.H, "q")),
        kv(normal(c.B * c.S * 2 * c.k * c.H, "kv")),
        dout(normal(c.B * c.T * op.n * c.H, "dout")) {
    op.kv_of_head = kv_of_head.data();
    op.q_offset = c.q_offset;
    op.k_offset = c.k_offset;
    op.scale = 1 / std::sqrt(static_cast<double>(c.H));
    for (std::int64_t i = 0; i < c.B * c.T && c.document > 0; ++i) {
      const std::int64_t position = c.q_offset + i % c.T, shift = i / c.T;  // sequences differ
      first_key.push_back(std::max<std::int64_t>(0, (position + shift) / c.document * c.document - shift));
    }
    if (c.document > 0) op.first_key = first_key.data();
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  FloatHeads keys() const { return {kv.data(), op.S * 2 * op.k * op.H, 2 * op.k * op.H, op.H}; }
  FloatHeads values() const { return {kv.data() + op.k * op.H, op.S * 2 * op.k * op.H, 2 * op.k * op.H, op.H}; }
  bool sees(std::int64_t b, std::int64_t t, std::int64_t s) const {
    const std::int64_t query = op.q_offset + t, key = op.k_offset + s;
    return key <= query && (first_key.empty() || key >= first_key[index(b * op.T + t)]);
  }

  Attention op;
  std::vector<std::int64_t> kv_of_head, first_key;
  std::vector<float> q, kv, dout;
};

template <class Float, class Vector>
FloatHeadView<Float> dense(Vector& x, std::int64_t rows, std::int64_t heads, std::int64_t H) {
  return {x.data(), rows * heads * H, heads * H, H};
}

template <class Float>
struct Results {
  explicit Results(const Attention& op)
      : out(index(op.B * op.T * op.n * op.H), Float(3)),
        lse(index(op.B * op.n * op.T)),
        dq(out),
        dk(index(op.B * op.S * op.k * op.H), Float(3)),
        dv(dk) {}
  bool operator==(const Results& other) const {
    return out == other.out && lse == other.lse && dq == other.dq && dk == other.dk && dv == other.dv;
  }
  std::vector<Float> out, lse, dq, dk, dv;
};

Results<float> run(const Problem& p) {
  const Attention& op = p.op;
  Results<float> r(op);
  const FloatHeads q = dense<const float>(p.q, op.T, op.n, op.H), dout = dense<const float>(p.dout, op.T, op.n, op.H);
  attention_forward(op, q, p.keys(), p.values(), dense<float>(r.out, op.T, op.n, op.H), r.lse.data());
  attention_backward(op, q, p.keys(), p.values(), {dense<const float>(r.out, op.T, op.n, op.H), dout, r.lse.data()},
                     dense<float>(r.dq, op.T, op.n, op.H), dense<float>(r.dk, op.S, op.k, op.H),
                     dense<float>(r.dv, op.S, op.k, op.H));
  return r;
}

// The same heads as halves; results in floats.
Results<float> run_of_halves(const Problem& p) {
  const Attention& op = p.op;
  const std::vector<Bf16> q = halves_of(p.q), kv = halves_of(p.kv), dout = halves_of(p.dout);
  const auto view = [&](const std::vector<Bf16>& x, std::int64_t first, std::int64_t rows, std::int64_t heads) {
    return Heads{x.data() + first, rows * heads * op.H, heads * op.H, op.H, Dtype::bf16};
  };
  const Heads queries = view(q, 0, op.T, op.n), keys = view(kv, 0, op.S, 2 * op.k),
              values = view(kv, op.k * op.H, op.S, 2 * op.k);
  Results<float> r(op);
  attention_forward(op, queries, keys, values, dense<float>(r.out, op.T, op.n, op.H), r.lse.data());
  attention_backward(
      op, queries, keys, values, {dense<const float>(r.out, op.T, op.n, op.H), view(dout, 0, op.T, op.n), r.lse.data()},
      dense<float>(r.dq, op.T, op.n, op.H), dense<float>(r.dk, op.S, op.k, op.H), dense<float>(r.dv, op.S, op.k, op.H));
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
void exact_query(const Problem& p, std::int64_t b, std::int64_t t, std::int64_t head, Results<double>& r) {
  const Attention& op = p.op;
  const std::int64_t row = ((b * op.T + t) * op.n + head) * op.H, kv = p.kv_of_head[index(head)];
  const float *q = p.q.data() + row, *dout = p.dout.data() + row;
  std::vector<double> weight(index(op.S));
  double sum = 0, dout_out = 0;
  for (std::int64_t s = 0; s < op.S; ++s)
    if (p.sees(b, t, s)) sum += weight[index(s)] = std::exp(op.scale * dot(q, p.keys().at(b, s, kv), op.H));
  r.lse[index((b * op.n + head) * op.T + t)] = std::log(sum);
  for (std::int64_t s = 0; s < op.S; ++s) {
    if (!p.sees(b, t, s)) continue;
    weight[index(s)] /= sum;
    add(weight[index(s)], p.values().at(b, s, kv), op.H, r.out.data() + row);
    dout_out += weight[index(s)] * dot(dout, p.values().at(b, s, kv), op.H);
  }
  for (std::int64_t s = 0; s < op.S; ++s) {
    const double w = weight[index(s)];
    const double ds = op.scale * w * (dot(dout, p.values().at(b, s, kv), op.H) - dout_out);
    const std::int64_t key_row = ((b * op.S + s) * op.k + kv) * op.H;
    add(w, dout, op.H, r.dv.data() + key_row);
    add(ds, q, op.H, r.dk.data() + key_row);
    add(ds, p.keys().at(b, s, kv), op.H, r.dq.data() + row);
  }
}

Results<double> exact(const Problem& p) {
  Results<double> r(p.op);
  for (std::vector<double>* x : {&r.out, &r.dq, &r.dk, &r.dv}) std::fill(x->begin(), x->end(), 0.0);
  for (std::int64_t b = 0; b < p.op.B; ++b)
    for (std::int64_t t = 0; t < p.op.T; ++t)
      for (std::int64_t head = 0; head < p.op.n; ++head) exact_query(p, b, t, head, r);
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
    for (const std::int64_t H : {1, 3, 16, 33}) expect_exact({1, T, T, 1, H, {0, 0}});
  expect_exact({1, 257, 257, 2, 40, {0, 1}});
  expect_exact({1, 40, 40, 1, 256, {0}});
}

TEST(Attention, OfPairsIsExactForSizesAroundBlocksTilesAndVectors) {
  for (const std::int64_t T : {2, 31, 63, 66, 131})
    for (const std::int64_t H : {2, 14, 34, 64}) expect_exact({1, T, T, 1, H, {0, 0}});
  for (const std::int64_t offset : {-255, -37, -3, 5, 64, 131})
    expect_exact({1, 150, 201, 1, 6, {0}, std::max<std::int64_t>(offset, 0), std::max<std::int64_t>(-offset, 0)});
}

TEST(Attention, IsExactForEveryOffsetOfQueriesAndKeys) {
  for (const std::int64_t offset : {-600, -255, -64, -37, -3, 5, 64, 200, 300})
    expect_exact({1, 150, 290, 1, 5, {0}, std::max<std::int64_t>(offset, 0), std::max<std::int64_t>(-offset, 0)});
  expect_exact({2, 1, 333, 2, 16, {0, 0, 1, 1}, 332, 0});
  expect_exact({1, 333, 1, 2, 16, {0, 1}, 0, 100});
  expect_exact({1, 600, 300, 1, 8, {0}, 0, 290});
}

TEST(Attention, IsExactForDocumentsOfAnyLength) {
  for (const std::int64_t document : {1, 7, 64, 100}) expect_exact({2, 270, 270, 1, 8, {0}, 0, 0, document});
  expect_exact({2, 100, 200, 1, 8, {0}, 150, 0, 90});
  expect_exact({2, 300, 200, 1, 8, {0}, 500, 0, 130});  // many queries see nothing
}

TEST(Attention, IsExactForUnevenMapsOfHeads) {
  expect_exact({2, 70, 70, 3, 8, {2, 0, 2, 2, 0}});  // nobody reads head 1
  expect_exact({1, 300, 300, 2, 8, {1, 1, 1, 0, 1}});
}

const AttentionCase large{2, 700, 700, 2, 24, {0, 0, 1, 0}, 0, 0, 450};

TEST(Attention, GivesTheSameBitsForEveryNumberOfThreads) {
  const Problem p(large);
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

template <class T>
bool same_part(const std::vector<T>& batch, const std::vector<T>& alone, std::int64_t b) {
  const auto begin = batch.begin() + b * static_cast<std::int64_t>(alone.size());
  return std::equal(alone.begin(), alone.end(), begin);
}

TEST(Attention, OfASequenceHasTheSameBitsInEveryBatch) {
  const Problem p(large);
  for (std::int64_t b = 0; b < large.B; ++b) {
    Problem one(large);
    one.op.B = 1;
    one.op.first_key = p.first_key.data() + b * large.T;
    const std::int64_t queries = large.T * one.op.n * large.H, keys = large.S * 2 * large.k * large.H;
    one.q.erase(one.q.begin(), one.q.begin() + b * queries);
    one.dout.erase(one.dout.begin(), one.dout.begin() + b * queries);
    one.kv.erase(one.kv.begin(), one.kv.begin() + b * keys);
    for (const auto& results : {run, run_of_halves}) {
      const Results<float> batch = results(p), alone = results(one);
      EXPECT_TRUE(same_part(batch.out, alone.out, b) && same_part(batch.lse, alone.lse, b)) << b;
      EXPECT_TRUE(same_part(batch.dq, alone.dq, b)) << b;
      EXPECT_TRUE(same_part(batch.dk, alone.dk, b) && same_part(batch.dv, alone.dv, b)) << b;
    }
  }
}

TEST(Attention, LetsNotANumberThrough) {
  Problem p({1, 70, 70, 1, 8, {0}});
  p.q[65 * 8] = std::numeric_limits<float>::quiet_NaN();
  const Results<float> r = run(p);
  EXPECT_TRUE(std::isnan(r.lse[65]));
  EXPECT_TRUE(std::isnan(r.out[65 * 8]));
  EXPECT_TRUE(std::isnan(r.dq[65 * 8]));
  EXPECT_FALSE(std::isnan(r.out[64 * 8]));
}

}  // namespace
}  // namespace troika::cpu
