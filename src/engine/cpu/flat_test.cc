#include "cpu/flat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "cpu/targets_test_support.h"

namespace troika::cpu {
namespace {

std::vector<float> normal(const char* name, std::int64_t count) {
  std::vector<float> x(static_cast<std::size_t>(count));
  base::Philox(3, name).fill_normal(0, count, x.data());
  return x;
}

struct State {
  std::vector<float> parameter, gradient, m, v;
};

State state_of(std::int64_t count) {
  State state{normal("p", count), normal("g", count), normal("m", count), normal("v", count)};
  for (float& value : state.v) value *= value;
  return state;
}

AdamWNumbers usual() {
  AdamWNumbers a;
  a.lr = 3e-4f;
  a.beta1 = 0.9f;
  a.beta2 = 0.95f;
  a.one_minus_beta1 = 0.1f;
  a.one_minus_beta2 = 0.05f;
  a.eps = 1e-8f;
  a.decay = 0.99997f;
  a.m_correction = 3.7f;
  a.v_correction = 7.0f;
  a.gradient_scale = 0.37f;
  return a;
}

// One rounding per operation.
void scalar_adamw(const AdamWNumbers& a, State* s, std::size_t i) {
  const float g = s->gradient[i] * a.gradient_scale;
  s->m[i] = s->m[i] * a.beta1 + g * a.one_minus_beta1;
  s->v[i] = s->v[i] * a.beta2 + g * g * a.one_minus_beta2;
  const float update = s->m[i] * a.m_correction / (std::sqrt(s->v[i] * a.v_correction) + a.eps) * a.lr;
  s->parameter[i] = s->parameter[i] * a.decay - update;
}

template <class T, class Round>
void expect_sum_of_parts(Dtype dtype, const Round& round) {
  for (const std::int64_t count : {0, 1, 2047, 2049, 70001}) {
    for (const std::size_t parts : {1U, 2U, 9U}) {
      std::vector<std::vector<T>> part(parts);
      std::vector<const void*> data;
      for (std::size_t r = 0; r < parts; ++r) {
        for (const float x : normal(("part " + std::to_string(r)).c_str(), count)) part[r].push_back(round(x));
        data.push_back(part[r].data());
      }
      std::vector<T> want(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < want.size(); ++i) {
        float total = to_float(part[0][i]);
        for (std::size_t r = 1; r < parts; ++r) total += to_float(part[r][i]);
        want[i] = round(total);
      }
      sum_of_parts(count, data, dtype, part.back().data());
      ASSERT_TRUE(count == 0 || std::memcmp(part.back().data(), want.data(), want.size() * sizeof(T)) == 0)
          << parts << " parts of " << count;
    }
  }
}

TEST(SumOfParts, AddsInTheirOrderInFp32AndRoundsOnceInPlaceToo) {
  expect_sum_of_parts<float>(Dtype::fp32, [](float x) { return x; });
  expect_sum_of_parts<Bf16>(Dtype::bf16, base::to_bf16);
  expect_sum_of_parts<base::Fp16>(Dtype::fp16, base::to_fp16);
}

TEST(Adamw, HasTheBitsOfTheScalarFormulasOnEveryTarget) {
  for (const std::int64_t count : {1, 15, 16, 17, 70001}) {
    const State start = state_of(count);
    State want = start;
    for (std::size_t i = 0; i < want.m.size(); ++i) scalar_adamw(usual(), &want, i);
    on_every_target([&] {
      State got = start;
      adamw(usual(), count, got.parameter.data(), got.gradient.data(), got.m.data(), got.v.data());
      EXPECT_EQ(got.parameter, want.parameter);
      EXPECT_EQ(got.m, want.m);
      EXPECT_EQ(got.v, want.v);
    });
  }
}

TEST(AddScaled, RoundsTheSumInDoubleOnceOnEveryTarget) {
  for (const std::size_t count : {0u, 1u, 7u, 16u, 67u}) {
    std::vector<float> x, before;
    for (std::size_t i = 0; i < count; ++i) {
      x.push_back(std::ldexp(1.37f + static_cast<float>(i), static_cast<int>(i % 40) - 20));
      before.push_back(-0.71f * static_cast<float>(i));
    }
    on_every_target([&] {
      std::vector<float> sum = before;
      add_scaled(static_cast<std::int64_t>(count), sum.data(), x.data(), 0.3f);
      for (std::size_t i = 0; i < count; ++i) {
        const double product = static_cast<double>(0.3f) * static_cast<double>(x[i]);
        EXPECT_EQ(sum[i], static_cast<float>(static_cast<double>(before[i]) + product));
      }
    });
  }
}

TEST(ChunkSquares, HasTheSameBitsOnEveryTarget) {
  constexpr std::int64_t count = 50003, chunk = 4096;
  const std::vector<float> x = normal("x", count);
  std::vector<double> want(13);
  chunk_squares(count, x.data(), chunk, want.data());
  on_every_target([&] {
    std::vector<double> got(want.size());
    chunk_squares(count, x.data(), chunk, got.data());
    EXPECT_EQ(got, want);
  });
}

TEST(ChunkSquares, OfAChunkLargerThanAPieceIsOneSum) {
  const std::vector<float> ones(200000, 1.0f);
  std::vector<double> squares(2);
  chunk_squares(200000, ones.data(), 150000, squares.data());
  EXPECT_EQ(squares, (std::vector<double>{150000, 50000}));
}

}  // namespace
}  // namespace troika::cpu
