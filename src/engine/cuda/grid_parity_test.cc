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
    dispatch::round_to_grid(TestRun(1), {{shape.count, shift}}, in_place.data(), largest.data());
    dispatch::set_integers(TestRun(2), {{shape.count, shift}}, set.data(), x.data(), largest.data() + 1);
    dispatch::add_integers(TestRun(3), {{shape.count, shift}}, sum.data(), x.data(), largest.data() + 2);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(largest[i], want) << i;
    EXPECT_TRUE(largest.guards_are_whole());
    EXPECT_TRUE(in_place.bits() == want_rounded.bits());
    EXPECT_TRUE(set.bits() == want_set.bits());
    EXPECT_TRUE(sum.bits() == want_added.bits());
  }
  dispatch::from_integers(TestRun(4), {{shape.count, shift}}, want_added.data(), back.data());
  EXPECT_TRUE(back.bits() == want_back.bits());
  for (const std::int64_t chunk : {16, 4096}) {
    Guarded<double> squares((shape.count + chunk - 1) / chunk), want_squares = squares;
    dispatch::integer_chunk_squares(TestRun(5), {{shape.count, shift}}, want_added.data(), chunk, squares.data());
    dispatch::chunk_squares(TestRun(6), {{shape.count}}, back.data(), chunk, want_squares.data());
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
      dispatch::set_integers(TestRun(1), {{1027, -70}}, sum.data(), x.data(), largest.data());
      EXPECT_GE(largest[0], 0x7f800000u);
    }
  }
}

// More of them than one argument holds, of every length, some in vectors and some not, one of several pieces.
TEST(CudaGridParity, StretchesHaveTheBitsOfEachByItself) {
  for (const std::int64_t step : {1, 4}) {
    dispatch::GridStretches stretches;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < 150; ++i) {
      stretches.push_back({step * (i == 70 ? 9000 : i % 37), static_cast<int>(i % 5) * 9});
      count += stretches.back().count;
    }
    const auto many = static_cast<std::int64_t>(stretches.size());
    const Guarded<float> x = wide_values({count, 0});
    struct Result {
      explicit Result(const Guarded<float>& x) : rounded(x), back(x), set(x.size()), added(x.size()), squares(x.size()), largest(450) {}
      std::string bits() const { return bits_of(rounded, back, set, added, squares, largest); }
      void compute(const dispatch::GridStretches& list, std::int64_t begin, std::int64_t first, const Guarded<float>& x, std::int64_t* chunks) {
        std::uint32_t* most = largest.data() + first;
        dispatch::round_to_grid(TestRun(1), list, rounded.data() + begin, most);
        dispatch::set_integers(TestRun(2), list, set.data() + begin, x.data() + begin, most + 150);
        dispatch::add_integers(TestRun(3), list, added.data() + begin, x.data() + begin, most + 300);
        dispatch::from_integers(TestRun(4), list, set.data() + begin, back.data() + begin);
        dispatch::integer_chunk_squares(TestRun(5), list, set.data() + begin, 16, squares.data() + *chunks);
        for (const auto& stretch : list) *chunks += (stretch.count + 15) / 16;
      }
      Guarded<float> rounded, back;
      Guarded<std::int64_t> set, added;
      Guarded<double> squares;
      Guarded<std::uint32_t> largest;
    };
    Result at_once(x), apart(x);
    std::int64_t chunks = 0;
    at_once.compute(stretches, 0, 0, x, &chunks);
    chunks = 0;
    for (std::int64_t i = 0, begin = 0; i < many; begin += stretches[static_cast<std::size_t>(i++)].count)
      apart.compute({stretches[static_cast<std::size_t>(i)]}, begin, i, x, &chunks);
    EXPECT_TRUE(at_once.bits() == apart.bits()) << step;
    EXPECT_GT(at_once.largest[70], 0u);
  }
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
                                      dispatch::round_to_grid(run, {{shape.count, 2}}, x.data(), largest.data());
                                      return all();
                                    },
                                    [&](const TestRun& run) {
                                      fresh();
                                      dispatch::set_integers(run, {{shape.count, -50}}, sum.data(), x.data(), largest.data());
                                      return all();
                                    },
                                    [&](const TestRun& run) {
                                      fresh();
                                      dispatch::add_integers(run, {{shape.count, -50}}, sum.data(), x.data(), largest.data());
                                      return all();
                                    },
                                    [&](const TestRun& run) {
                                      fresh();
                                      dispatch::from_integers(run, {{shape.count, 3}}, sum.data(), x.data());
                                      return all();
                                    },
                                    [&](const TestRun& run) {
                                      fresh();
                                      dispatch::integer_chunk_squares(run, {{shape.count, 3}}, sum.data(), 16, squares.data());
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
