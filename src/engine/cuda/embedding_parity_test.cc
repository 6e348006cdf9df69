#include <numeric>

#include "cuda/vocabulary_dispatch.h"
#include "cuda/kernel_test_support.h"

namespace troika::cuda {
namespace {

struct EmbeddingShape {
  std::int64_t M, first_row, v, D, ids, offset;  // ids below `ids`; of the buffers from 16 bytes
};
const EmbeddingShape embedding_shapes[] = {{1, 0, 1, 1, 1, 0},      {37, 0, 259, 64, 259, 0}, {200, 0, 3, 17, 3, 0},
                                           {5, 0, 100, 33, 100, 0}, {60, 4, 7, 8, 15, 0},     {60, 4, 7, 8, 15, 1},
                                           {3, 10, 2, 1032, 12, 0}, {3, 50, 4, 5, 20, 0},     {0, 0, 7, 3, 1, 0}};

template <class T>
struct EmbeddingCase {
  explicit EmbeddingCase(const EmbeddingShape& s)
      : shape(s),
        ids(s.M),
        sorted(s.M),
        order(s.M),
        workspace(s.v + 1),
        weights(normal<T>("weights", s.v * s.D, s.offset)),
        dx(normal<T>("dx", s.M * s.D, s.offset)),
        x(s.M * s.D, s.offset),
        dtable(s.v * s.D, s.offset) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(s.M));
    std::iota(rows.begin(), rows.end(), 0);
    const base::Philox random(1, "ids");
    for (std::int64_t i = 0; i < s.M; ++i)
      ids[i] =
          static_cast<std::int64_t>(random.bits(static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(s.ids));
    std::stable_sort(rows.begin(), rows.end(), [&](std::int64_t a, std::int64_t b) { return ids[a] < ids[b]; });
    for (std::int64_t i = 0; i < s.M; ++i) {
      order[i] = rows[static_cast<std::size_t>(i)];
      sorted[i] = ids[order[i]];
    }
  }
  EmbeddingTable table() const { return {dtype_of<T>(), shape.first_row, shape.v, shape.D}; }

  EmbeddingShape shape;
  Guarded<std::int64_t> ids, sorted, order, workspace;
  Guarded<T> weights, dx, x;
  Guarded<float> dtable;
};

template <class T>
Operation embedding_forward(EmbeddingCase<T>& c) {
  return [&c](const TestRun& run) {
    c.x.clear();
    dispatch::embedding_forward(run, c.table(), c.shape.M, c.ids.data(), c.weights.data(), c.x.data());
    return bits_of(c.x);
  };
}
template <class T>
Operation embedding_backward(EmbeddingCase<T>& c) {
  return [&c](const TestRun& run) {
    c.dtable.clear();
    c.workspace.clear();
    dispatch::embedding_backward_weight(run, c.table(), c.shape.M, {c.sorted.data(), c.order.data()}, c.dx.data(),
                                        c.dtable.data(), c.workspace.data());
    return bits_of(c.dtable, c.workspace);
  };
}

// Bits: in fp32 the rows of an id add up in their order.
template <class T>
void expect_embedding_bits(const EmbeddingShape& shape) {
  EmbeddingCase<T> c(shape);
  ASSERT_EQ(dispatch::embedding_backward_integers(c.table()), shape.v + 1);
  Guarded<T> want_x = c.x;
  Guarded<float> want = c.dtable;
  for (std::int64_t i = 0; i < want.size(); ++i) want[i] = 0;
  for (std::int64_t m = 0; m < shape.M; ++m) {
    const std::int64_t row = c.ids[m] - shape.first_row;
    const bool here = row >= 0 && row < shape.v;
    for (std::int64_t d = 0; d < shape.D; ++d) {
      want_x[m * shape.D + d] = here ? c.weights[row * shape.D + d] : rounded<T>(0.0f);
      if (here) want[row * shape.D + d] += to_float(c.dx[m * shape.D + d]);
    }
  }
  embedding_forward(c)(TestRun(1));
  EXPECT_TRUE(c.x.bits() == want_x.bits());
  embedding_backward(c)(TestRun(1));
  EXPECT_TRUE(c.dtable.bits() == want.bits());
  EXPECT_TRUE(c.workspace.guards_are_whole());
}

TEST(CudaEmbeddingParity, HasTheBitsOfTheScalarLoops) {
  for (const Dtype dtype : dtypes) {
    for (const EmbeddingShape& shape : embedding_shapes) {
      SCOPED_TRACE(shape.v);
      dispatch::with_number(dtype, [&](auto type) { expect_embedding_bits<decltype(type)>(shape); });
    }
  }
}

Operation sorting(EmbeddingCase<float>& c, Guarded<std::int64_t>& sorted, Guarded<std::int64_t>& order) {
  return [&](const TestRun& run) {
    sorted.clear();
    order.clear();
    dispatch::sort_tokens(run, c.shape.M, c.ids.data(), sorted.data(), order.data());
    return bits_of(sorted, order);
  };
}

TEST(CudaEmbeddingParity, TokensAreSortedStably) {
  for (const std::int64_t M : {0, 1, 255, 256, 700}) {
    EmbeddingCase<float> c({M, 0, 9, 1, 9, 0});
    Guarded<std::int64_t> sorted(M), order(M);
    const Operation sort = sorting(c, sorted, order);
    sort(TestRun(1));
    EXPECT_EQ(sorted.bits(), c.sorted.bits());
    EXPECT_EQ(order.bits(), c.order.bits());
    if (M < 256) continue;
    expect_same_bits_in_any_order(sort);
    expect_faults_are_seen(sort);
  }
}

TEST(CudaEmbedding, OrdersAndPlantedFaults) {
  for (const EmbeddingShape& shape : {EmbeddingShape{60, 4, 7, 264, 15, 0}, EmbeddingShape{60, 4, 7, 5, 15, 0}}) {
    EmbeddingCase<Bf16> c(shape);
    for (const Operation& operation : {embedding_forward(c), embedding_backward(c)}) {
      expect_same_bits_in_any_order(operation);
      expect_faults_are_seen(operation);
    }
  }
}

}  // namespace
}  // namespace troika::cuda
