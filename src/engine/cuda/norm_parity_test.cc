#include "cuda/kernel_test_support.h"
#include "cuda/norm_dispatch.h"

namespace troika::cuda {
namespace {

constexpr double eps = 0.01;

struct NormShape {
  std::int64_t M, D, offset;  // of the buffers from 16 bytes
};
// Every number of threads and columns that norm_dispatch.h chooses from, with vectors and without.
const NormShape norm_shapes[] = {{1, 1, 0},    {3, 7, 0},    {37, 33, 0},  {37, 40, 0},  {3, 264, 0}, {3, 264, 1},
                                 {2, 1030, 0}, {3, 1032, 0}, {2, 2056, 0}, {2, 4104, 0}, {1, 8200, 0}};

template <class T>
struct NormCase {
  explicit NormCase(const NormShape& s)
      : shape(s),
        x(normal<T>("x", s.M * s.D, s.offset)),
        delta(normal<T>("delta", s.M * s.D, s.offset)),
        w(normal<T>("w", s.D, s.offset)),
        bias(normal<T>("bias", s.D, s.offset)),
        dy(normal<T>("dy", s.M * s.D, s.offset)),
        plus(normal<T>("plus", s.M * s.D, s.offset)),
        sum(s.M * s.D, s.offset),
        y(s.M * s.D, s.offset),
        dx(s.M * s.D, s.offset),
        mean(s.M),
        rstd(s.M),
        dw(s.D),
        dbias(s.D),
        workspace(dispatch::layer_norm_backward_floats(rows())) {}

  Rows rows() const { return {dtype_of<T>(), shape.M, shape.D}; }
  NormInput input(bool with_delta) {
    return {x.data(), with_delta ? delta.data() : nullptr, with_delta ? sum.data() : nullptr};
  }

  NormShape shape;
  Guarded<T> x, delta, w, bias, dy, plus, sum, y, dx;
  Guarded<float> mean, rstd, dw, dbias, workspace;
};

// The normed rows, and their statistics about `centre` times the mean.
struct NormReference {
  template <class T>
  NormReference(const NormCase<T>& c, bool with_delta, double centre) : M(c.shape.M), D(c.shape.D) {
    for (std::int64_t i = 0; i < M * D; ++i) {
      const T sum = with_delta ? rounded<T>(to_float(c.x[i]) + to_float(c.delta[i])) : c.x[i];
      x.push_back(value(sum));
    }
    for (std::int64_t m = 0; m < M; ++m) {
      double total = 0, squares = 0;
      for (std::int64_t d = 0; d < D; ++d) total += centre * at(m, d);
      mean.push_back(total / static_cast<double>(D));
      for (std::int64_t d = 0; d < D; ++d) squares += (at(m, d) - mean.back()) * (at(m, d) - mean.back());
      rstd.push_back(1 / std::sqrt(squares / static_cast<double>(D) + eps));
    }
  }
  double at(std::int64_t m, std::int64_t d) const { return x[static_cast<std::size_t>(m * D + d)]; }
  double normed(std::int64_t m, std::int64_t d) const {
    return (at(m, d) - mean[static_cast<std::size_t>(m)]) * rstd[static_cast<std::size_t>(m)];
  }

  std::int64_t M, D;
  std::vector<double> x, mean, rstd;
};

template <class T>
std::vector<double> forward_reference(const NormCase<T>& c, const NormReference& of, bool with_bias) {
  std::vector<double> y;
  for (std::int64_t m = 0; m < of.M; ++m)
    for (std::int64_t d = 0; d < of.D; ++d)
      y.push_back(of.normed(m, d) * value(c.w[d]) + (with_bias ? value(c.bias[d]) : 0));
  return y;
}

struct NormGradients {
  std::vector<double> dx, dw, dbias;
};

// centre: 1 where the mean has a gradient as well.
template <class T>
NormGradients backward_reference(const NormCase<T>& c, const NormReference& of, double centre, bool with_plus) {
  NormGradients want{
      {}, std::vector<double>(static_cast<std::size_t>(of.D)), std::vector<double>(static_cast<std::size_t>(of.D))};
  for (std::int64_t m = 0; m < of.M; ++m) {
    double along = 0, total = 0;
    for (std::int64_t d = 0; d < of.D; ++d) {
      const double dy = value(c.dy[m * of.D + d]);
      along += dy * value(c.w[d]) * of.normed(m, d) / static_cast<double>(of.D);
      total += centre * dy * value(c.w[d]) / static_cast<double>(of.D);
      want.dw[static_cast<std::size_t>(d)] += dy * of.normed(m, d);
      want.dbias[static_cast<std::size_t>(d)] += dy;
    }
    for (std::int64_t d = 0; d < of.D; ++d) {
      const double across = value(c.dy[m * of.D + d]) * value(c.w[d]) - total - of.normed(m, d) * along;
      want.dx.push_back(across * of.rstd[static_cast<std::size_t>(m)] + (with_plus ? value(c.plus[m * of.D + d]) : 0));
    }
  }
  return want;
}

template <class T>
void set_statistics(NormCase<T>& c, const NormReference& of) {
  for (std::int64_t m = 0; m < of.M; ++m) {
    c.mean[m] = static_cast<float>(of.mean[static_cast<std::size_t>(m)]);
    c.rstd[m] = static_cast<float>(of.rstd[static_cast<std::size_t>(m)]);
  }
}

template <class T>
Operation rms_forward(NormCase<T>& c, bool with_delta) {
  return [&c, with_delta](const TestRun& run) {
    for (auto* buffer : {&c.sum, &c.y}) buffer->clear();
    c.rstd.clear();
    dispatch::rms_norm_forward(run, c.rows(), c.input(with_delta), {c.w.data()}, eps, c.y.data(), c.rstd.data());
    return bits_of(c.sum, c.y, c.rstd);
  };
}

template <class T>
Operation layer_forward(NormCase<T>& c, bool with_delta) {
  return [&c, with_delta](const TestRun& run) {
    for (auto* buffer : {&c.sum, &c.y}) buffer->clear();
    for (auto* buffer : {&c.mean, &c.rstd}) buffer->clear();
    dispatch::layer_norm_forward(run, c.rows(), c.input(with_delta), c.w.data(), c.bias.data(), eps, c.y.data(),
                                 c.mean.data(), c.rstd.data());
    return bits_of(c.sum, c.y, c.mean, c.rstd);
  };
}

template <class T>
Operation rms_backward(NormCase<T>& c, bool with_plus) {
  return [&c, with_plus](const TestRun& run) {
    c.dx.clear();
    for (auto* buffer : {&c.dw, &c.workspace}) buffer->clear();
    dispatch::rms_norm_backward(run, c.rows(), c.dy.data(), c.x.data(), {c.w.data()}, c.rstd.data(),
                                with_plus ? c.plus.data() : nullptr, c.dx.data(), c.dw.data(), c.workspace.data());
    return bits_of(c.dx, c.dw);
  };
}

template <class T>
Operation layer_backward(NormCase<T>& c, bool with_plus) {
  return [&c, with_plus](const TestRun& run) {
    c.dx.clear();
    for (auto* buffer : {&c.dw, &c.dbias, &c.workspace}) buffer->clear();
    dispatch::layer_norm_backward(run, c.rows(), c.dy.data(), c.x.data(), c.w.data(), c.mean.data(), c.rstd.data(),
                                  with_plus ? c.plus.data() : nullptr, c.dx.data(), c.dw.data(), c.dbias.data(),
                                  c.workspace.data());
    return bits_of(c.dx, c.dw, c.dbias);
  };
}

template <class T>
void expect_sum(const NormCase<T>& c, const NormReference& of, bool with_delta) {
  for (std::int64_t i = 0; with_delta && i < c.sum.size(); ++i)
    ASSERT_EQ(value(c.sum[i]), of.x[static_cast<std::size_t>(i)]);
  EXPECT_TRUE(c.sum.guards_are_whole());
}

template <class T>
void expect_forward_parity(const NormShape& shape, bool with_delta) {
  NormCase<T> c(shape);
  const NormReference rms(c, with_delta, 0), layer(c, with_delta, 1);
  rms_forward(c, with_delta)(TestRun(1));
  expect_sum(c, rms, with_delta);
  expect_close(c.y, forward_reference(c, rms, false), "rms y");
  expect_close(c.rstd, rms.rstd, "rms rstd");
  if (shape.D == 1) return;  // has no variance
  layer_forward(c, with_delta)(TestRun(1));
  expect_sum(c, layer, with_delta);
  expect_close(c.y, forward_reference(c, layer, true), "layer y");
  expect_close(c.mean, layer.mean, "layer mean");
  expect_close(c.rstd, layer.rstd, "layer rstd");
}

template <class T>
void expect_backward_parity(const NormShape& shape, bool with_plus) {
  NormCase<T> c(shape);
  const NormReference rms(c, false, 0), layer(c, false, 1);
  set_statistics(c, rms);
  rms_backward(c, with_plus)(TestRun(1));
  const NormGradients want = backward_reference(c, rms, 0, with_plus);
  expect_close(c.dx, want.dx, "rms dx");
  expect_close(c.dw, want.dw, "rms dw");
  EXPECT_TRUE(c.workspace.guards_are_whole());
  if (shape.D == 1) return;
  set_statistics(c, layer);
  layer_backward(c, with_plus)(TestRun(1));
  const NormGradients of_layer = backward_reference(c, layer, 1, with_plus);
  expect_close(c.dx, of_layer.dx, "layer dx");
  expect_close(c.dw, of_layer.dw, "layer dw");
  expect_close(c.dbias, of_layer.dbias, "layer dbias");
  EXPECT_TRUE(c.workspace.guards_are_whole());
}

TEST(CudaNormParity, ForwardAgreesWithDouble) {
  for (const Dtype dtype : dtypes) {
    for (const NormShape& shape : norm_shapes) {
      dispatch::with_number(dtype, [&](auto type) {
        SCOPED_TRACE(shape.D);
        expect_forward_parity<decltype(type)>(shape, shape.M % 2 == 1);
      });
    }
  }
}

TEST(CudaNormParity, BackwardAgreesWithDouble) {
  for (const Dtype dtype : dtypes) {
    for (const NormShape& shape : norm_shapes) {
      dispatch::with_number(dtype, [&](auto type) {
        SCOPED_TRACE(shape.D);
        expect_backward_parity<decltype(type)>(shape, shape.M % 2 == 1);
      });
    }
  }
}

TEST(CudaNormParity, WithoutDeltaOrPlusOrStatistics) {
  expect_forward_parity<Bf16>({3, 40, 0}, false);
  expect_backward_parity<Bf16>({3, 40, 0}, false);
  NormCase<float> c({3, 40, 0});
  dispatch::rms_norm_forward(TestRun(1), c.rows(), c.input(false), {c.w.data()}, eps, c.y.data(), nullptr);
  expect_close(c.y, forward_reference(c, NormReference(c, false, 0), false), "rms y");
  dispatch::layer_norm_forward(TestRun(1), c.rows(), c.input(false), c.w.data(), c.bias.data(), eps, c.y.data(), nullptr,
                               nullptr);
  expect_close(c.y, forward_reference(c, NormReference(c, false, 1), true), "layer y");
}

TEST(CudaNormParity, MoreRowsThanShares) { expect_backward_parity<float>({540, 4, 0}, true); }

TEST(CudaNormParity, GradientsOfNoRowsAreZeros) {
  NormCase<float> c({0, 40, 0});
  rms_backward(c, true)(TestRun(1));
  layer_backward(c, true)(TestRun(1));
  for (std::int64_t d = 0; d < 40; ++d) EXPECT_EQ(c.dw[d], 0);
  for (std::int64_t d = 0; d < 40; ++d) EXPECT_EQ(c.dbias[d], 0);
}

TEST(CudaNorm, ResultsMayStandWhereInputsStood) {
  NormCase<Bf16> c({3, 264, 0}), in_place({3, 264, 0});
  rms_forward(c, true)(TestRun(1));
  dispatch::rms_norm_forward(TestRun(2), c.rows(), {in_place.x.data(), in_place.delta.data(), in_place.delta.data()},
                             {c.w.data()}, eps, in_place.y.data(), in_place.rstd.data());
  EXPECT_TRUE(in_place.delta.bits() == c.sum.bits());
  EXPECT_TRUE(in_place.y.bits() == c.y.bits());
  rms_backward(c, true)(TestRun(1));
  dispatch::rms_norm_backward(TestRun(2), c.rows(), in_place.dy.data(), c.x.data(), {c.w.data()}, c.rstd.data(),
                              in_place.plus.data(), in_place.plus.data(), c.dw.data(), c.workspace.data());
  EXPECT_TRUE(in_place.plus.bits() == c.dx.bits());
}

TEST(CudaNorm, BitsDoNotDependOnTheOrderOfThreads) {
  for (const NormShape& shape : {NormShape{3, 33, 0}, NormShape{3, 264, 0}, NormShape{2, 4104, 0}}) {
    NormCase<Bf16> c(shape);
    for (const Operation& operation :
         {rms_forward(c, true), layer_forward(c, true), rms_backward(c, true), layer_backward(c, true)})
      expect_same_bits_in_any_order(operation);
  }
}

TEST(CudaNorm, PlantedFaultsAreSeen) {
  NormCase<Bf16> vectors({3, 264, 0}), single({3, 33, 0});
  for (NormCase<Bf16>* c : {&vectors, &single}) {
    set_statistics(*c, NormReference(*c, false, 1));
    for (const Operation& operation :
         {rms_backward(*c, true), layer_backward(*c, true), rms_forward(*c, true), layer_forward(*c, true)})
      expect_faults_are_seen(operation);
  }
}

// A block that has several rows: the barriers of each.
TEST(CudaNorm, OrdersAndPlantedFaultsWithSeveralRowsInABlock) {
  NormCase<float> c({7, 264, 0});
  set_statistics(c, NormReference(c, false, 1));
  const auto clear = [&] {
    c.dx.clear();
    c.workspace.clear();
  };
  const Operation rms = [&](const TestRun& run) {
    clear();
    run(RmsNormBackward<float, 4, 128, 1>{c.dy.data(), c.x.data(), c.w.data(), 0, c.rstd.data(), c.plus.data(),
                                          c.dx.data(), c.workspace.data(), 7, 264, 2});
    return bits_of(c.dx, c.workspace);
  };
  const Operation layer = [&](const TestRun& run) {
    clear();
    run(LayerNormBackward<float, 4, 128, 1>{c.dy.data(), c.x.data(), c.w.data(), c.mean.data(), c.rstd.data(),
                                            c.plus.data(), c.dx.data(), c.workspace.data(),
                                            c.workspace.data() + 2 * 264, 7, 264, 2});
    return bits_of(c.dx, c.workspace);
  };
  for (const Operation& operation : {rms, layer}) {
    expect_same_bits_in_any_order(operation);
    expect_faults_are_seen(operation);
  }
}

}  // namespace
}  // namespace troika::cuda
