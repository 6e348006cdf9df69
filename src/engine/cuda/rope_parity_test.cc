#include "base/error.h"
#include "cuda/kernel_test_support.h"
#include "cuda/rope_dispatch.h"

namespace troika::cuda {
namespace {

constexpr double rope_eps = 0.01;
constexpr std::int64_t table_rows = 50;

enum class TableRows { in_order, given };

struct RopeShape {
  std::int64_t B, T, n, H, gap;  // between the rows of heads
  TableRows table;
};
// Every number of lanes and columns that rope_dispatch.h chooses from, with vectors and without.
const RopeShape rope_shapes[] = {{1, 1, 1, 2, 0, TableRows::in_order},    {2, 3, 5, 6, 0, TableRows::given},
                                 {1, 37, 1, 10, 3, TableRows::in_order},  {2, 5, 3, 16, 8, TableRows::given},
                                 {1, 7, 5, 64, 0, TableRows::in_order},   {2, 3, 3, 80, 1, TableRows::given},
                                 {3, 5, 7, 128, 64, TableRows::in_order}, {1, 3, 2, 130, 0, TableRows::in_order},
                                 {1, 5, 3, 256, 0, TableRows::given},     {2, 2, 2, 264, 0, TableRows::in_order},
                                 {1, 3, 3, 512, 16, TableRows::given},    {1, 3, 1, 510, 0, TableRows::in_order}};

// Heads with a gap behind each row of n of them.
template <class T>
struct HeadBuffer {
  HeadBuffer(const RopeShape& s, Guarded<T> data) : row(s.n * s.H + s.gap), shape(s), buffer(std::move(data)) {}
  static std::int64_t size(const RopeShape& s) { return s.B * s.T * (s.n * s.H + s.gap); }
  Heads heads() const { return {buffer.data(), shape.T * row, row, shape.H}; }
  MutableHeads mutable_heads() { return {buffer.data(), shape.T * row, row, shape.H}; }
  const T* at(std::int64_t position, std::int64_t head) const {
    return buffer.data() + position * row + head * shape.H;
  }

  std::int64_t row;
  RopeShape shape;
  Guarded<T> buffer;
};

template <class T>
struct RopeCase {
  explicit RopeCase(const RopeShape& s)
      : shape(s),
        cos(table_rows * s.H / 2),
        sin(table_rows * s.H / 2),
        row(s.B * s.T),
        w(normal<T>("w", s.H)),
        x(s, normal<T>("x", HeadBuffer<T>::size(s))),
        dy(s, normal<T>("dy", HeadBuffer<T>::size(s))),
        y(s, Guarded<T>(HeadBuffer<T>::size(s))),
        rstd(s.B * s.T * s.n),
        dw(s.H),
        workspace(dispatch::qk_norm_rope_backward_floats(normed())) {
    for (std::int64_t i = 0; i < cos.size(); ++i) {
      cos[i] = static_cast<float>(std::cos(0.37 * static_cast<double>(i)));
      sin[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i)));
    }
    for (std::int64_t i = 0; i < row.size(); ++i) row[i] = (i * 29 + 3) % table_rows;
  }
  RopeRows rows() const { return {cos.data(), sin.data(), shape.table == TableRows::given ? row.data() : nullptr}; }
  Rope op() const { return {dtype_of<T>(), shape.B, shape.T, shape.n, shape.H, rows()}; }
  QkNormRope normed() const { return {dtype_of<T>(), shape.B, shape.T, shape.n, shape.H, w.data(), 0, rows()}; }
  std::int64_t angle(std::int64_t position) const {
    return (shape.table == TableRows::given ? row[position] : position % shape.T) * shape.H / 2;
  }

  RopeShape shape;
  Guarded<float> cos, sin;
  Guarded<std::int64_t> row;
  Guarded<T> w;
  HeadBuffer<T> x, dy, y;
  Guarded<float> rstd, dw, workspace;
};

template <class T>
Operation rope_of(RopeCase<T>& c, Turn turn) {
  return [&c, turn](const TestRun& run) {
    c.y.buffer.clear();
    dispatch::rope(run, c.op(), turn, c.x.heads(), c.y.mutable_heads());
    return bits_of(c.y.buffer);
  };
}
template <class T>
Operation normed_forward(RopeCase<T>& c) {
  return [&c](const TestRun& run) {
    c.y.buffer.clear();
    c.rstd.clear();
    dispatch::qk_norm_rope_forward(run, c.normed(), rope_eps, c.x.heads(), c.y.mutable_heads(), c.rstd.data());
    return bits_of(c.y.buffer, c.rstd);
  };
}
template <class T>
Operation normed_backward(RopeCase<T>& c) {
  return [&c](const TestRun& run) {
    c.y.buffer.clear();
    c.dw.clear();
    c.workspace.clear();
    dispatch::qk_norm_rope_backward(run, c.normed(), c.dy.heads(), c.x.heads(), c.rstd.data(), c.y.mutable_heads(),
                                    c.dw.data(), c.workspace.data());
    return bits_of(c.y.buffer, c.dw);
  };
}

template <class T>
std::vector<double> turned(const RopeCase<T>& c, const std::vector<double>& x, std::int64_t position,
                           double direction) {
  const std::int64_t I = c.shape.H / 2, angle = c.angle(position);
  std::vector<double> y(x.size());
  for (std::int64_t i = 0; i < I; ++i) {
    const double cos = value(c.cos[angle + i]), sin = value(c.sin[angle + i]) * direction;
    const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(i + I);
    y[a] = x[a] * cos - x[b] * sin;
    y[b] = x[b] * cos + x[a] * sin;
  }
  return y;
}

template <class T>
std::vector<double> head_of(const HeadBuffer<T>& heads, std::int64_t position, std::int64_t head) {
  std::vector<double> x;
  for (std::int64_t h = 0; h < heads.shape.H; ++h) x.push_back(value(heads.at(position, head)[h]));
  return x;
}

// All heads one after the other; the gaps between rows must be poison.
template <class T>
Guarded<T> dense_heads(const HeadBuffer<T>& heads) {
  const RopeShape& s = heads.shape;
  Guarded<T> all(s.B * s.T * s.n * s.H);
  const T poison = Guarded<T>(1)[0];
  for (std::int64_t i = 0; i < heads.buffer.size(); ++i) {
    const std::int64_t column = i % heads.row;
    if (column < s.n * s.H) {
      all[i / heads.row * s.n * s.H + column] = heads.buffer[i];
    } else {
      EXPECT_EQ(std::memcmp(&heads.buffer[i], &poison, sizeof poison), 0) << i;
    }
  }
  EXPECT_TRUE(heads.buffer.guards_are_whole());
  return all;
}

template <class T, class Visit>
void each_head(const RopeCase<T>& c, const Visit& visit) {
  for (std::int64_t position = 0; position < c.shape.B * c.shape.T; ++position)
    for (std::int64_t head = 0; head < c.shape.n; ++head) visit(position, head);
}

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

template <class T>
void expect_rope_parity(const RopeShape& shape) {
  RopeCase<T> c(shape);
  std::vector<double> forward, back;
  each_head(c, [&](std::int64_t position, std::int64_t head) {
    append(forward, turned(c, head_of(c.x, position, head), position, 1));
    append(back, turned(c, head_of(c.x, position, head), position, -1));
  });
  rope_of(c, Turn::forward)(TestRun(1));
  expect_close(dense_heads(c.y), forward, "forward");
  rope_of(c, Turn::back)(TestRun(1));
  expect_close(dense_heads(c.y), back, "back");
}

template <class T>
void expect_normed_parity(const RopeShape& shape) {
  RopeCase<T> c(shape);
  std::vector<double> y, rstds, dx, dw(static_cast<std::size_t>(shape.H));
  each_head(c, [&](std::int64_t position, std::int64_t head) {
    std::vector<double> x = head_of(c.x, position, head), normed = x;
    const auto H = static_cast<double>(shape.H);
    double squares = 0, along = 0;
    for (const double value_of : x) squares += value_of * value_of;
    const double rstd = 1 / std::sqrt(squares / H + rope_eps);
    rstds.push_back(rstd);
    std::vector<double> weighted;
    for (std::size_t h = 0; h < x.size(); ++h) {
      normed[h] = x[h] * rstd;
      weighted.push_back(normed[h] * value(c.w[static_cast<std::int64_t>(h)]));
    }
    append(y, turned(c, weighted, position, 1));
    std::vector<double> d = turned(c, head_of(c.dy, position, head), position, -1);
    for (std::size_t h = 0; h < d.size(); ++h) {
      dw[h] += d[h] * normed[h];
      d[h] *= value(c.w[static_cast<std::int64_t>(h)]);
      along += d[h] * normed[h] / H;
    }
    for (std::size_t h = 0; h < d.size(); ++h) dx.push_back((d[h] - normed[h] * along) * rstd);
  });
  normed_forward(c)(TestRun(1));
  expect_close(dense_heads(c.y), y, "y");
  expect_close(c.rstd, rstds, "rstd");
  normed_backward(c)(TestRun(1));
  expect_close(dense_heads(c.y), dx, "dx");
  expect_close(c.dw, dw, "dw");
  EXPECT_TRUE(c.workspace.guards_are_whole());
}

TEST(CudaRopeParity, AgreesWithDouble) {
  for (const Dtype dtype : dtypes) {
    for (const RopeShape& shape : rope_shapes)
      dispatch::with_number(dtype, [&](auto type) { expect_rope_parity<decltype(type)>(shape); });
  }
}

TEST(CudaRopeParity, WithNormsAgreesWithDouble) {
  for (const Dtype dtype : dtypes) {
    for (const RopeShape& shape : rope_shapes)
      dispatch::with_number(dtype, [&](auto type) {
        SCOPED_TRACE(shape.H);
        expect_normed_parity<decltype(type)>(shape);
      });
  }
}

// A batch whose share of a block is more heads than it has groups of threads.
TEST(CudaRopeParity, MoreHeadsThanABlockHasAtOnce) {
  expect_normed_parity<Bf16>({2, 19, 7, 264, 0, TableRows::given});
  expect_normed_parity<float>({1, 41, 3, 2, 0, TableRows::given});
}

TEST(CudaRope, WidthsThatItDoesNotHaveAreBugs) {
  RopeCase<float> odd({1, 1, 1, 3, 0, TableRows::in_order}), wide({1, 1, 1, 514, 0, TableRows::in_order});
  EXPECT_THROW(rope_of(odd, Turn::forward)(TestRun(1)), base::BugError);
  EXPECT_THROW(normed_forward(wide)(TestRun(1)), base::BugError);
  rope_of(wide, Turn::forward)(TestRun(1));
}

TEST(CudaRope, TurnsInPlace) {
  RopeCase<Bf16> c({2, 3, 3, 80, 0, TableRows::given}), in_place = c;
  rope_of(c, Turn::forward)(TestRun(1));
  dispatch::rope(TestRun(2), in_place.op(), Turn::forward, in_place.x.heads(), in_place.x.mutable_heads());
  EXPECT_TRUE(in_place.x.buffer.bits() == c.y.buffer.bits());
  RopeCase<Bf16> other = c;
  normed_forward(c)(TestRun(1));
  dispatch::qk_norm_rope_forward(TestRun(2), other.normed(), rope_eps, other.x.heads(), other.x.mutable_heads(),
                                 nullptr);
  EXPECT_TRUE(other.x.buffer.bits() == c.y.buffer.bits());
  normed_backward(c)(TestRun(1));
  dispatch::qk_norm_rope_backward(TestRun(2), c.normed(), c.dy.heads(), c.x.heads(), c.rstd.data(), c.dy.mutable_heads(),
                                  c.dw.data(), c.workspace.data());
  EXPECT_TRUE(c.dy.buffer.bits() == c.y.buffer.bits());
}

TEST(CudaRope, OrdersAndPlantedFaults) {
  for (const std::int64_t H : {10, 128, 256}) {
    RopeCase<Bf16> c({2, 5, 7, H, 0, TableRows::given});
    normed_forward(c)(TestRun(1));  // rstd, for backward
    for (const Operation& operation :
         {normed_backward(c), rope_of(c, Turn::forward), rope_of(c, Turn::back), normed_forward(c)}) {
      expect_same_bits_in_any_order(operation);
      expect_faults_are_seen(operation);
    }
  }
}

}  // namespace
}  // namespace troika::cuda
