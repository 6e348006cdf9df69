#include "cuda/activation_dispatch.h"
#include "cuda/kernel_test_support.h"

namespace troika::cuda {
namespace {

struct ActivationShape {
  std::int64_t M, F, gap, offset;  // between the rows of gradients; of the buffers from 16 bytes
};
const ActivationShape activation_shapes[] = {{1, 1, 0, 0},   {3, 7, 3, 0},     {37, 33, 0, 0},
                                             {37, 40, 0, 0}, {3, 264, 8, 0},   {3, 264, 5, 0},
                                             {2, 264, 0, 1}, {2, 1032, 16, 0}, {2, 2049, 0, 0}};

template <class T>
struct ActivationCase {
  explicit ActivationCase(const ActivationShape& s)
      : shape(s),
        gate_up(normal<T>("gate_up", s.M * 2 * s.F, s.offset)),
        x(normal<T>("x", s.M * s.F, s.offset)),
        dy(normal<T>("dy", s.M * s.F, s.offset)),
        y(s.M * s.F, s.offset),
        dgate_up(s.M * (2 * s.F + s.gap), s.offset),
        dx(s.M * (s.F + s.gap), s.offset) {
    for (std::int64_t i = 0; i < x.size(); i += 5) x[i] = rounded<T>(4 * to_float(x[i]));  // beyond what is linear
  }
  Rows rows() const { return {dtype_of<T>(), shape.M, shape.F}; }

  ActivationShape shape;
  Guarded<T> gate_up, x, dy, y, dgate_up, dx;
};

template <class T>
Operation swiglu_forward(ActivationCase<T>& c) {
  return [&c](const TestRun& run) {
    c.y.clear();
    dispatch::gated_forward(run, Gate::silu, c.rows(), c.gate_up.data(), c.y.data());
    return bits_of(c.y);
  };
}
template <class T>
Operation swiglu_backward(ActivationCase<T>& c) {
  return [&c](const TestRun& run) {
    c.dgate_up.clear();
    dispatch::gated_backward(run, Gate::silu, c.rows(), c.dy.data(), c.gate_up.data(), c.dgate_up.data(),
                              2 * c.shape.F + c.shape.gap);
    return bits_of(c.dgate_up);
  };
}
template <class T>
Operation gelu_forward(ActivationCase<T>& c) {
  return [&c](const TestRun& run) {
    c.y.clear();
    dispatch::gelu_forward(run, c.rows(), c.x.data(), c.y.data());
    return bits_of(c.y);
  };
}
template <class T>
Operation gelu_backward(ActivationCase<T>& c) {
  return [&c](const TestRun& run) {
    c.dx.clear();
    dispatch::gelu_backward(run, c.rows(), c.dy.data(), c.x.data(), c.dx.data(), c.shape.F + c.shape.gap);
    return bits_of(c.dx);
  };
}

// Rows of `width` without the gaps between them, which must be poison.
template <class T>
Guarded<T> dense(const Guarded<T>& x, std::int64_t M, std::int64_t width, std::int64_t gap) {
  Guarded<T> rows(M * width);
  const T poison = Guarded<T>(1)[0];
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::int64_t column = i % (width + gap);
    if (column < width) {
      rows[i / (width + gap) * width + column] = x[i];
    } else {
      EXPECT_EQ(std::memcmp(&x[i], &poison, sizeof poison), 0) << i;
    }
  }
  EXPECT_TRUE(x.guards_are_whole());
  return rows;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

template <class T>
void expect_swiglu_parity(const ActivationShape& shape) {
  ActivationCase<T> c(shape);
  swiglu_forward(c)(TestRun(1));
  swiglu_backward(c)(TestRun(1));
  std::vector<double> h, gradient(static_cast<std::size_t>(shape.M * 2 * shape.F));
  for (std::int64_t m = 0; m < shape.M; ++m) {
    for (std::int64_t f = 0; f < shape.F; ++f) {
      const std::int64_t at = m * 2 * shape.F + f;
      const double gate = value(c.gate_up[at]), up = value(c.gate_up[at + shape.F]), dh = value(c.dy[m * shape.F + f]);
      const double s = sigmoid(gate);
      h.push_back(gate * s * up);
      gradient[static_cast<std::size_t>(at)] = (s + gate * s * (1 - s)) * up * dh;
      gradient[static_cast<std::size_t>(at + shape.F)] = gate * s * dh;
    }
  }
  expect_close(c.y, h, "h");
  expect_close(dense(c.dgate_up, shape.M, 2 * shape.F, shape.gap), gradient, "dgate_up");
}

template <class T>
void expect_gelu_parity(const ActivationShape& shape) {
  ActivationCase<T> c(shape);
  gelu_forward(c)(TestRun(1));
  gelu_backward(c)(TestRun(1));
  std::vector<double> y, dx;
  for (std::int64_t i = 0; i < c.x.size(); ++i) {
    const double x = value(c.x[i]), root = std::sqrt(2 / 3.14159265358979323846);
    const double tanh = std::tanh(root * (x + 0.044715 * x * x * x));
    y.push_back(0.5 * x * (1 + tanh));
    const double slope = root * (1 + 3 * 0.044715 * x * x);
    dx.push_back((0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * slope) * value(c.dy[i]));
  }
  expect_close(c.y, y, "y");
  expect_close(dense(c.dx, shape.M, shape.F, shape.gap), dx, "dx");
}

TEST(CudaActivationParity, SwigluAgreesWithDouble) {
  for (const Dtype dtype : dtypes) {
    for (const ActivationShape& shape : activation_shapes)
      dispatch::with_number(dtype, [&](auto type) { expect_swiglu_parity<decltype(type)>(shape); });
  }
}

TEST(CudaActivationParity, GeluAgreesWithDouble) {
  for (const Dtype dtype : dtypes) {
    for (const ActivationShape& shape : activation_shapes)
      dispatch::with_number(dtype, [&](auto type) { expect_gelu_parity<decltype(type)>(shape); });
  }
}

TEST(CudaActivation, LargeMagnitudesGiveNumbers) {
  ActivationCase<float> c({1, 2, 0, 0});
  c.gate_up[0] = -1e4f, c.gate_up[1] = 1e4f, c.gate_up[2] = c.gate_up[3] = 2;
  c.x[0] = -1e4f, c.x[1] = 1e4f, c.dy[0] = c.dy[1] = 1;
  swiglu_forward(c)(TestRun(1));
  expect_close(c.y, {0, 2e4}, "h");
  swiglu_backward(c)(TestRun(1));
  expect_close(c.dgate_up, {0, 2, 0, 1e4}, "dgate_up");
  gelu_forward(c)(TestRun(1));
  expect_close(c.y, {0, 1e4}, "y");
  gelu_backward(c)(TestRun(1));
  expect_close(c.dx, {0, 1}, "dx");
}

TEST(CudaActivation, GradientsMayStandWhereInputsStood) {
  ActivationCase<Bf16> c({3, 264, 0, 0}), in_place({3, 264, 0, 0});
  swiglu_backward(c)(TestRun(1));
  dispatch::gated_backward(TestRun(2), Gate::silu, c.rows(), in_place.dy.data(), in_place.gate_up.data(), in_place.gate_up.data(),
                            528);
  EXPECT_TRUE(in_place.gate_up.bits() == c.dgate_up.bits());
  gelu_backward(c)(TestRun(1));
  dispatch::gelu_backward(TestRun(2), c.rows(), in_place.dy.data(), in_place.x.data(), in_place.dy.data(), 264);
  EXPECT_TRUE(in_place.dy.bits() == c.dx.bits());
}

TEST(CudaActivation, OrdersAndPlantedFaults) {
  ActivationCase<Fp16> vectors({3, 264, 8, 0}), single({3, 33, 0, 0});
  for (ActivationCase<Fp16>* c : {&vectors, &single}) {
    for (const Operation& operation : {swiglu_forward(*c), swiglu_backward(*c), gelu_forward(*c), gelu_backward(*c)}) {
      expect_same_bits_in_any_order(operation);
      expect_faults_are_seen(operation);
    }
  }
}

}  // namespace
}  // namespace troika::cuda
