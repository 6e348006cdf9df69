#include "cuda/activation_dispatch.h"
#include "cuda/kernel_test_support.h"

namespace troika::cuda {
namespace {

struct DropoutShape {
  std::int64_t T, I, first_column;
};
const DropoutShape dropout_shapes[] = {{1, 1, 0},  {3, 8, 0},    {10, 33, 0},  {10, 33, 7},
                                       {7, 5, 12}, {33, 64, 64}, {40, 100, 3}, {1, 3, 6}};

template <class T>
struct DropoutCase {
  explicit DropoutCase(const DropoutShape& s)
      : shape(s), x(normal<T>("x", s.T * s.I)), y(s.T * s.I) {}
  DropoutRows rows() const {
    return {dtype_of<T>(), shape.T, shape.I, shape.first_column, 70};
  }
  DropoutDraw draw() const { return {{17, 4000000007u}, 4294967295u, 12, 20000, 1.25f}; }

  DropoutShape shape;
  Guarded<T> x, y;
};

template <class T>
Operation dropout_of(DropoutCase<T>& c) {
  return [&c](const TestRun& run) {
    c.y.clear();
    dispatch::dropout(run, c.rows(), c.draw(), c.x.data(), c.y.data());
    return bits_of(c.y);
  };
}

template <class T>
void expect_dropout_bits(const DropoutShape& s) {
  DropoutCase<T> c(s);
  Guarded<T> want(c.y.size());
  const DropoutDraw draw = c.draw();
  for (std::int64_t m = 0; m < s.T; ++m) {
    for (std::int64_t i = 0; i < s.I; ++i) {
      const std::int64_t e = s.first_column + i;
      const auto words =
          base::philox4x32({static_cast<std::uint32_t>(e / 8), static_cast<std::uint32_t>(70 + m), draw.sample, draw.step},
                           {draw.key[0], draw.key[1]});
      const std::uint32_t word = words[static_cast<std::size_t>(e % 8 / 2)],
                          own = e % 2 == 0 ? word & 0xffff : word >> 16;
      want[m * s.I + i] = rounded<T>(to_float(c.x[m * s.I + i]) * (own >= draw.threshold ? draw.kept : 0.0f));
    }
  }
  dropout_of(c)(TestRun(1));
  EXPECT_TRUE(c.y.bits() == want.bits()) << s.T << " x " << s.I << " from " << s.first_column;
}

TEST(CudaDropoutParity, HasTheMaskOfTheFormula) {
  for (const Dtype dtype : dtypes) {
    for (const DropoutShape& shape : dropout_shapes)
      dispatch::with_number(dtype, [&](auto type) { expect_dropout_bits<decltype(type)>(shape); });
  }
}

TEST(CudaDropout, OrdersAndPlantedFaults) {
  DropoutCase<Bf16> c({80, 100, 3});
  expect_same_bits_in_any_order(dropout_of(c));
  expect_faults_are_seen(dropout_of(c));
}

TEST(CudaDropout, InPlace) {
  DropoutCase<float> apart({10, 33, 7}), in_place({10, 33, 7});
  dropout_of(apart)(TestRun(1));
  dispatch::dropout(TestRun(2), in_place.rows(), in_place.draw(), in_place.x.data(), in_place.x.data());
  EXPECT_TRUE(in_place.x.bits() == apart.y.bits());
}

}  // namespace
}  // namespace troika::cuda
