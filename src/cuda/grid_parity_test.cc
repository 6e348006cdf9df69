#include <limits>

#include "cuda/grid_dispatch.h"
#include "cuda/kernel_test_support.h"

namespace troika::cuda {
namespace {

struct GridShape {
  std::int64_t count, offset;  // of the buffers from 16 bytes
};
const GridShape grid_shapes[] = {{1, 0}, {7, 0}, {37, 1}, {1024, 0}, {1027, 0}, {5003, 0}, {5003, 1}};

// Magnitudes over 60 powers of two, zeros of both signs in a row, halves of the grid.
Guarded<float> wide_values(const GridShape& shape) {
  Guarded<float> x = normal<float>("grid", shape.count, shape.offset);
  for (std::int64_t i = 0; i < shape.count; ++i) {
    x[i] = std::ldexp(x[i], static_cast<int>(i % 61) - 50);
    if (i % 19 == 0) x[i] = std::ldexp(static_cast<float>(i % 7) - 3.5f, -3);
    if (i % 32 < 9) x[i] = i % 2 == 0 ? 0.0f : -0.0f;
  }
  return x;
}

std::int64_t scalar_integer(float x, int shift) {
  return static_cast<std::int64_t>(std::nearbyint(std::ldexp(static_cast<double>(x), shift)));
}

std::uint32_t largest_of(const Guarded<float>& x) {
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) most = std::max(most, bits_of(x[i]) & 0x7fffffffu);
  return most;
}

Guarded<std::uint32_t> no_largest() {
  Guarded<std::uint32_t> largest(1);
  largest[0] = 0;
  return largest;
}

void expect_grid_bits(const GridShape& shape, int shift) {
  const Guarded<float> x = wide_values(shape);
  Guarded<float> in_place = x, want_rounded = x, back(shape.count, shape.offset), want_back = back;
  Guarded<std::int64_t> set(shape.count, shape.offset), added = set, want_set = set, want_added = set;
  for (std::int64_t i = 0; i < shape.count; ++i) {
    const std::int64_t q = scalar_integer(x[i], shift);
    want_set[i] = q;
    added[i] = 3 * i - 1000;
    want_added[i] = q + added[i];
    want_rounded[i] =
        static_cast<float>(std::nearbyint(std::ldexp(static_cast<double>(x[i]), shift)) * std::ldexp(1.0, -shift));
    want_back[i] = static_cast<float>(std::ldexp(static_cast<double>(want_added[i]), -shift));
  }
  for (const std::uint32_t before : {0u, 0x7f7fffffu}) {
    const std::uint32_t want = std::max(before, largest_of(x));
    Guarded<std::uint32_t> largest(3);
    for (int i = 0; i < 3; ++i) largest[i] = before;
    Guarded<std::int64_t> sum = added;
    in_place = x;
    dispatch::round_to_grid(TestRun(1), shape.count, in_place.data(), shift, largest.data());
    dispatch::set_integers(TestRun(2), shape.count, set.data(), x.data(), shift, largest.data() + 1);
    dispatch::add_integers(TestRun(3), shape.count, sum.data(), x.data(), shift, largest.data() + 2);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(largest[i], want) << i;
    EXPECT_TRUE(largest.guards_are_whole());
    EXPECT_TRUE(in_place.bits() == want_rounded.bits());
    EXPECT_TRUE(set.bits() == want_set.bits());
    EXPECT_TRUE(sum.bits() == want_added.bits());
  }
  dispatch::from_integers(TestRun(4), shape.count, want_added.data(), shift, back.data());
  EXPECT_TRUE(back.bits() == want_back.bits());
  for (const std::int64_t chunk : {16, 4096}) {
    Guarded<double> squares((shape.count + chunk - 1) / chunk), want_squares = squares;
    dispatch::integer_chunk_squares(TestRun(5), shape.count, want_added.data(), shift, chunk, squares.data());
    dispatch::chunk_squares(TestRun(6), shape.count, back.data(), chunk, want_squares.data());
    EXPECT_TRUE(squares.bits() == want_squares.bits());
  }
}

TEST(CudaGridParity, HasTheBitsOfTheScalarFormulas) {
  for (const GridShape& shape : grid_shapes) {
    for (const int shift : {50, 3, -20}) {
      SCOPED_TRACE(shape.count);
      expect_grid_bits(shape, shift);
    }
  }
}

TEST(CudaGrid, NumbersThatAreNoneStandAboveAllOthers) {
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::quiet_NaN()}) {
    for (const std::int64_t place : {std::int64_t{0}, std::int64_t{1026}}) {
      Guarded<float> x(1027);
      for (std::int64_t i = 0; i < 1027; ++i) x[i] = 3e38f;
      x[place] = bad;
      Guarded<std::int64_t> sum(1027);
      Guarded<std::uint32_t> largest = no_largest();
      dispatch::set_integers(TestRun(1), 1027, sum.data(), x.data(), -70, largest.data());
      EXPECT_GE(largest[0], 0x7f800000u);
    }
  }
}

template <class Give>
std::string convert_with_two_blocks(const TestRun& run, const Give& give, const Guarded<float>& x, int shift) {
  Guarded<std::uint32_t> largest = no_largest();
  run(Convert<Give, 4>{give, x.data(), std::ldexp(1.0, shift), largest.data(), x.size(), 2});
  return largest.bits();
}

TEST(CudaGrid, ABlockHasSeveralPieces) {
  const Guarded<float> x = wide_values({5003, 0});
  Guarded<std::int64_t> got(5003), want(5003);
  Guarded<std::uint32_t> largest = no_largest();
  dispatch::set_integers(TestRun(1), 5003, want.data(), x.data(), 20, largest.data());
  EXPECT_EQ(convert_with_two_blocks(TestRun(1), SetIntegers{got.data()}, x, 20), largest.bits());
  EXPECT_TRUE(got.bits() == want.bits());
}

// A part of a matrix of 9 rows.
struct RowsCase {
  static constexpr std::int64_t D = 70, first = 2 * D + 31, rows = 4;
  RowsCase() : x(wide_values({rows * D, 0})), row(rows), sum(3 * D) {
    x[rows * D - 1] = -1e30f;  // the largest, outside
    for (std::int64_t i = 0; i < rows; ++i) row[i] = 2 * i + 1;
  }
  Operation operation() {
    return [this](const TestRun& run) {
      for (std::int64_t i = 0; i < sum.size(); ++i) sum[i] = 7 * i;
      largest[0] = 5;
      dispatch::add_rows_on_grid(run, {first, sum.size(), rows, D, row.data()}, sum.data(), x.data(), 20, largest.data());
      return bits_of(sum, largest);
    };
  }
  Guarded<float> x;
  Guarded<std::int64_t> row, sum;
  Guarded<std::uint32_t> largest = no_largest();
};

TEST(CudaGridParity, RowsAreAddedAsFarAsTheyLieInThePart) {
  RowsCase c;
  c.operation()(TestRun(1));
  for (std::int64_t i = 0; i < c.sum.size(); ++i) {
    std::int64_t want = 7 * i;
    for (std::int64_t r = 0; r < RowsCase::rows; ++r) {
      const std::int64_t column = RowsCase::first + i - c.row[r] * RowsCase::D;
      if (column >= 0 && column < RowsCase::D) want += scalar_integer(c.x[r * RowsCase::D + column], 20);
    }
    EXPECT_EQ(c.sum[i], want) << i;
  }
  EXPECT_EQ(c.largest[0], largest_of(c.x));
  EXPECT_TRUE(c.sum.guards_are_whole());
}

TEST(CudaGrid, OrdersAndPlantedFaults) {
  RowsCase rows;
  expect_same_bits_in_any_order(rows.operation());
  expect_faults_are_seen(rows.operation());
  for (const GridShape& shape : {GridShape{2051, 0}, GridShape{515, 1}}) {
    Guarded<float> start = wide_values(shape);
    start[0] = -1e30f;  // the largest
    Guarded<float> x = start;
    Guarded<std::int64_t> sum(shape.count, shape.offset);
    Guarded<double> squares(shape.count / 16 + 1);
    Guarded<std::uint32_t> largest = no_largest();
    const auto fresh = [&] {
      x = start;
      for (std::int64_t i = 0; i < shape.count; ++i) sum[i] = 5 * i;
      squares.clear();
      largest = no_largest();
    };
    const auto all = [&] { return bits_of(x, sum, squares, largest); };
    const Operation operations[] = {[&](const TestRun& run) {
                                      fresh();
                                      dispatch::round_to_grid(run, shape.count, x.data(), 2, largest.data());
                                      return all();
                                    },
                                    [&](const TestRun& run) {
                                      fresh();
                                      dispatch::set_integers(run, shape.count, sum.data(), x.data(), -50, largest.data());
                                      return all();
                                    },
                                    [&](const TestRun& run) {
                                      fresh();
                                      dispatch::add_integers(run, shape.count, sum.data(), x.data(), -50, largest.data());
                                      return all();
                                    },
                                    [&](const TestRun& run) {
                                      fresh();
                                      dispatch::from_integers(run, shape.count, sum.data(), 3, x.data());
                                      return all();
                                    },
                                    [&](const TestRun& run) {
                                      fresh();
                                      dispatch::integer_chunk_squares(run, shape.count, sum.data(), 3, 16,
                                                                      squares.data());
                                      return all();
                                    }};
    for (const Operation& operation : operations) {
      expect_same_bits_in_any_order(operation);
      expect_faults_are_seen(operation);
    }
  }
}

}  // namespace
}  // namespace troika::cuda
