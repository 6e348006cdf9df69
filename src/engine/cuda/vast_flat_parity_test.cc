// As vast_rows_parity_test.cc, of flat arrays, elements and rows by index.
#include "cuda/bias_dispatch.h"
#include "cuda/elements_dispatch.h"
#include "cuda/flat_dispatch.h"
#include "cuda/grid_dispatch.h"
#include "cuda/vast_test_support.h"

namespace troika::cuda {
namespace {

// Flat arrays as rows of 16 elements, so that the three are whole chunks of 16.
constexpr std::int64_t flat_rows = 156250000, flat_count = 16 * flat_rows;

TEST(CudaVastParity, FlatArrays) {
  TROIKA_NEEDS_BYTES(48 * gigabyte);
  const ThreeRows rows(flat_rows, 16);
  AdamWNumbers numbers;
  numbers.lr = 3e-4f;
  numbers.beta1 = numbers.beta2 = 0.9f;
  numbers.one_minus_beta1 = numbers.one_minus_beta2 = 0.1f;
  numbers.eps = 1e-8f;
  numbers.m_correction = numbers.v_correction = 3.5f;
  numbers.gradient_scale = 0.5f;
  Both<float> p(rows, 16, "p"), g(rows, 16, "g"), m(rows, 16, "m"), v(rows, 16, "v");
  for (std::int64_t i = 0; i < 48; ++i) v.small[i] *= v.small[i];
  rows.give(v.vast, v.small);
  Both<Bf16> rounded(rows, 16);
  dispatch::adamw(rows.run(), numbers, {{flat_count, 0.9f}}, {p.vast.data(), g.vast.data(), m.vast.data(), v.vast.data()},
                  Dtype::bf16, rounded.vast.data());
  dispatch::adamw(TestRun(1), numbers, {{48, 0.9f}}, {p.small.data(), g.small.data(), m.small.data(), v.small.data()},
                  Dtype::bf16, rounded.small.data());
  p.expect_equal("AdamW");
  rounded.expect_equal("AdamW, rounded");
  dispatch::add_into(rows.run(), flat_count, m.vast.data(), g.vast.data());
  dispatch::add_into(TestRun(1), 48, m.small.data(), g.small.data());
  m.expect_equal("sums");
  dispatch::sum_of_parts(rows.run(), flat_count, {m.vast.data(), g.vast.data()}, Dtype::fp32, p.vast.data(), nullptr);
  dispatch::sum_of_parts(TestRun(1), 48, {m.small.data(), g.small.data()}, Dtype::fp32, p.small.data(), nullptr);
  p.expect_equal("sums of parts");
  dispatch::round_into(rows.run(), flat_count, m.vast.data(), Dtype::bf16, rounded.vast.data());
  dispatch::round_into(TestRun(1), 48, m.small.data(), Dtype::bf16, rounded.small.data());
  rounded.expect_equal("rounding");
  Both<double> squares(rows, 1);
  dispatch::chunk_squares(rows.run(), {{flat_count}}, m.vast.data(), 16, squares.vast.data());
  dispatch::chunk_squares(TestRun(1), {{48}}, m.small.data(), 16, squares.small.data());
  squares.expect_equal("squares");
}

// Its blocks go through the whole array in strides: the host runs those that meet the three rows.
TEST(CudaVastParity, SumsOfBits) {
  TROIKA_NEEDS_BYTES(6 * gigabyte);
  const ThreeRows rows(flat_rows, 16);
  Both<std::uint16_t> words(rows, 16);
  Guarded<std::int64_t> sum(1), want(1);
  sum[0] = want[0] = 7;
  const TestRun run([&](std::int64_t blocks) {
    std::set<std::int64_t> chosen;
    for (const std::int64_t row : rows.at) chosen.insert(row * 16 / 256 % blocks);
    return std::vector<std::int64_t>(chosen.begin(), chosen.end());
  });
  dispatch::bits_sum(run, flat_count, 2, words.vast.data(), sum.data());
  dispatch::bits_sum(TestRun(1), 48, 2, words.small.data(), want.data());
  EXPECT_EQ(sum[0], want[0]);
}

TEST(CudaVastParity, IntegersOnAGrid) {
  TROIKA_NEEDS_BYTES(32 * gigabyte);
  const ThreeRows rows(flat_rows, 16);
  Both<float> x(rows, 16, "x");
  Both<std::int64_t> sum(rows, 16);
  Guarded<std::uint32_t> largest(2);
  largest[0] = largest[1] = 0;
  dispatch::set_integers(rows.run(), {{flat_count, 20}}, sum.vast.data(), x.vast.data(), &largest[0]);
  dispatch::set_integers(TestRun(1), {{48, 20}}, sum.small.data(), x.small.data(), &largest[1]);
  sum.expect_equal("integers");
  EXPECT_EQ(largest[0], largest[1]);
  dispatch::add_integers(rows.run(), {{flat_count, 20}}, sum.vast.data(), x.vast.data(), &largest[0]);
  dispatch::add_integers(TestRun(1), {{48, 20}}, sum.small.data(), x.small.data(), &largest[1]);
  sum.expect_equal("sums of integers");
  dispatch::round_to_grid(rows.run(), {{flat_count, 3}}, x.vast.data(), &largest[0]);
  dispatch::round_to_grid(TestRun(1), {{48, 3}}, x.small.data(), &largest[1]);
  x.expect_equal("rounding to the grid");
  dispatch::from_integers(rows.run(), {{flat_count, 20}}, sum.vast.data(), x.vast.data());
  dispatch::from_integers(TestRun(1), {{48, 20}}, sum.small.data(), x.small.data());
  x.expect_equal("from integers");
  Guarded<std::int64_t> row(3);
  for (int i = 0; i < 3; ++i) row[i] = rows.at[i];
  Guarded<std::int64_t> first(3);
  for (int i = 0; i < 3; ++i) first[i] = i;
  dispatch::add_rows_on_grid(TestRun(1), {0, flat_count, 3, 16, row.data()}, sum.vast.data(), x.small.data(), 20, &largest[0]);
  dispatch::add_rows_on_grid(TestRun(1), {0, 48, 3, 16, first.data()}, sum.small.data(), x.small.data(), 20, &largest[1]);
  sum.expect_equal("rows on the grid");
  Both<double> squares(rows, 1);
  dispatch::integer_chunk_squares(rows.run(), {{flat_count, 20}}, sum.vast.data(), 16, squares.vast.data());
  dispatch::integer_chunk_squares(TestRun(1), {{48, 20}}, sum.small.data(), 16, squares.small.data());
  squares.expect_equal("squares of integers");
}

// A matrix as its transpose is walked, so that both strides matter.
TEST(CudaVastParity, CopiesAndSumsOfElements) {
  TROIKA_NEEDS_BYTES(17 * gigabyte);
  const ThreeRows rows(flat_rows, 16);
  const WalkShape all{2, {flat_rows, 16}, {16, 1}, {16, 1}}, three{2, {3, 16}, {16, 1}, {16, 1}};
  Both<float> a(rows, 16);
  Both<Bf16> b(rows, 16, "b");
  dispatch::copy_elements(rows.run(), all, {Dtype::fp32, a.vast.data()}, {Dtype::bf16, b.vast.data()});
  dispatch::copy_elements(TestRun(1), three, {Dtype::fp32, a.small.data()}, {Dtype::bf16, b.small.data()});
  a.expect_equal("a conversion");
  dispatch::add_elements(rows.run(), all, {Dtype::fp32, a.vast.data()}, {Dtype::bf16, b.vast.data()}, 3);
  dispatch::add_elements(TestRun(1), three, {Dtype::fp32, a.small.data()}, {Dtype::bf16, b.small.data()}, 3);
  dispatch::multiply_elements(rows.run(), all, {Dtype::fp32, a.vast.data()}, 0.5);
  dispatch::multiply_elements(TestRun(1), three, {Dtype::fp32, a.small.data()}, 0.5);
  a.expect_equal("a sum and a product");
  const WalkShape columns{2, {16, flat_rows}, {1, 16}, {flat_rows, 1}};  // row 15 of b's transpose is the last in memory
  b.vast[flat_count - 1] = rounded<Bf16>(1.5f);
  a.vast[flat_count - 1] = 0;
  dispatch::copy_elements(TestRun([](std::int64_t blocks) { return std::vector<std::int64_t>{blocks - 1}; }), columns,
                          {Dtype::fp32, a.vast.data()}, {Dtype::bf16, b.vast.data()});
  EXPECT_EQ(a.vast[flat_count - 1], 1.5f);
  dispatch::fill_elements(rows.run(), all, {Dtype::fp32, a.vast.data()}, 2.5);
  for (const std::int64_t row : rows.at) EXPECT_EQ(a.vast[row * 16 + 15], 2.5f) << row;
}

TEST(CudaVastParity, RowsByIndex) {
  TROIKA_NEEDS_BYTES(23 * gigabyte);
  const ThreeRows rows(160000, 16384);
  constexpr std::int64_t D = 16384;
  Guarded<std::int64_t> index(3);
  for (int i = 0; i < 3; ++i) index[i] = rows.at[i];
  Both<float> table(rows, D, "table");
  Guarded<float> got(3 * D);
  const dispatch::RowIndex of{index.data(), 3, rows.M, D};
  dispatch::gather_rows(TestRun(1), of, {Dtype::fp32, got.data()}, {Dtype::fp32, table.vast.data()});
  EXPECT_TRUE(got.bits() == table.small.bits());
  for (std::int64_t i = 0; i < 3 * D; ++i) got[i] *= 2, table.small[i] *= 3;
  dispatch::add_rows(TestRun(1), of, {Dtype::fp32, table.vast.data()}, {Dtype::fp32, got.data()});
  table.expect_equal("sums of rows");
  dispatch::scatter_rows(TestRun(1), of, {Dtype::fp32, table.vast.data()}, {Dtype::fp32, got.data()});
  rows.expect(table.vast, got, "rows that are set");
  Both<float> to(rows, D);  // as many rows as the table has
  Guarded<std::int64_t> each(rows.M);
  for (std::int64_t i = 0; i < rows.M; ++i) each[i] = i;
  dispatch::gather_rows(rows.run(), {each.data(), rows.M, rows.M, D}, {Dtype::fp32, to.vast.data()},
                        {Dtype::fp32, table.vast.data()});
  rows.expect(to.vast, got, "rows that are read");
}

TEST(CudaVastParity, GradientOfABias) {
  TROIKA_NEEDS_BYTES(6 * gigabyte);
  constexpr std::int64_t M = 80000000, O = 32;
  const ThreeRows rows(M, O);
  Both<Bf16> dy(rows, O, "dy");
  const Rows all{Dtype::bf16, M, O};
  Guarded<float> dbias(O), workspace(dispatch::linear_backward_bias_floats(all));
  for (std::int64_t i = 0; i < workspace.size(); ++i) workspace[i] = 0;
  dispatch::linear_backward_bias(rows.run(), all, dy.vast.data(), dbias.data(), workspace.data());
  for (std::int64_t o = 0; o < O; ++o)
    EXPECT_EQ(dbias[o], to_float(dy.small[o]) + to_float(dy.small[O + o]) + to_float(dy.small[2 * O + o])) << o;
}

}  // namespace
}  // namespace troika::cuda
