#include "cuda/bias_dispatch.h"
#include "cuda/kernel_test_support.h"

namespace troika::cuda {
namespace {

struct BiasShape {
  std::int64_t M, O, offset;  // of the buffer from 16 bytes
};
const BiasShape bias_shapes[] = {{0, 5, 0},   {1, 1, 0},     {3, 7, 0},    {37, 33, 0},   {37, 40, 0},
                                 {37, 40, 1}, {100, 264, 0}, {1000, 8, 0}, {70, 1031, 0}, {33, 2056, 0}};

template <class T>
struct BiasCase {
  explicit BiasCase(const BiasShape& s)
      : shape(s),
        dy(normal<T>("dy", s.M * s.O, s.offset)),
        dbias(s.O),
        workspace(dispatch::linear_backward_bias_floats(rows())) {}
  Rows rows() const { return {dtype_of<T>(), shape.M, shape.O}; }

  BiasShape shape;
  Guarded<T> dy;
  Guarded<float> dbias, workspace;
};

template <class T>
Operation bias_backward(BiasCase<T>& c) {
  return [&c](const TestRun& run) {
    c.dbias.clear();
    c.workspace.clear();
    dispatch::linear_backward_bias(run, c.rows(), c.dy.data(), c.dbias.data(), c.workspace.data());
    return bits_of(c.dbias);
  };
}

template <class T>
void expect_bias_parity(const BiasShape& shape) {
  BiasCase<T> c(shape);
  std::vector<double> want(static_cast<std::size_t>(shape.O));
  for (std::int64_t i = 0; i < c.dy.size(); ++i) want[static_cast<std::size_t>(i % shape.O)] += value(c.dy[i]);
  bias_backward(c)(TestRun(1));
  expect_close(c.dbias, want, "dbias");
  EXPECT_TRUE(c.workspace.guards_are_whole());
}

TEST(CudaBiasParity, AgreesWithDouble) {
  for (const Dtype dtype : dtypes) {
    for (const BiasShape& shape : bias_shapes) {
      SCOPED_TRACE(shape.O);
      dispatch::with_number(dtype, [&](auto type) { expect_bias_parity<decltype(type)>(shape); });
    }
  }
}

TEST(CudaBias, OrdersAndPlantedFaults) {
  for (const BiasShape& shape : {BiasShape{100, 264, 0}, BiasShape{100, 33, 0}}) {
    BiasCase<Fp16> c(shape);
    expect_same_bits_in_any_order(bias_backward(c));
    expect_faults_are_seen(bias_backward(c));
  }
}

}  // namespace
}  // namespace troika::cuda
