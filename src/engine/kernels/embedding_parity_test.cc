// M rows, V vocabulary, D width.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/vocabulary.h"
#include "kernels/parity_test_support.h"
#include "kernels/reference/reference_test_support.h"
#include "tensor/device.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

// The whole gradient.
at::Tensor dense(const NamedRows& rows, std::int64_t v) {
  return at::zeros({v, rows.gradient_rD.size(1)}).index_copy_(0, rows.row_r, rows.gradient_rD);
}
at::Tensor dtable_of(const at::Tensor& dx, const at::Tensor& ids, std::int64_t first_row, std::int64_t v) {
  const NamedRows rows = embedding_backward_weight(dx, ids, first_row, v);
  EXPECT_TRUE(at::equal(rows.row_r, std::get<0>(at::_unique2(rows.row_r)))) << "ascending, each once";
  return dense(rows, v);
}

struct EmbeddingCase {
  std::int64_t M, V, D;
};
const std::vector<EmbeddingCase> embedding_cases{
    {1, 1, 1}, {48, 259, 64}, {200, 3, 17}, {5, 1000, 33}, {0, 7, 3}};  // many or no repeats

void expect_embedding_parity(const EmbeddingCase& c, at::ScalarType dtype) {
  Parity exact;
  const at::Tensor ids = random_ids("ids", c.M, c.V), table = random_normal("table", {c.V, c.D}).to(dtype);
  const at::Tensor dx = random_normal("dx", {c.M, c.D}).to(dtype), table_ref = leaf(table);
  const at::Tensor one_hot = (ids.unsqueeze(1) == at::arange(c.V)).to(at::kDouble);
  const at::Tensor x_ref = at::matmul(one_hot, table_ref);
  differentiate(x_ref, dx);

  EXPECT_TRUE(at::equal(embedding_forward(ids, table, 0), x_ref.detach().to(dtype)));
  exact.compare("dtable", dtable_of(dx, ids, 0, c.V), table_ref.grad());
}

TEST(EmbeddingParity, ForwardAndGradientAgreeWithAutogradInEveryDtype) {
  for (const at::ScalarType dtype : dtypes)
    for (const EmbeddingCase& c : embedding_cases) expect_embedding_parity(c, dtype);
}

TEST(EmbeddingParity, RandomShapes) {
  base::Draw draw("embedding");
  for (int i = 0; i < 40; ++i)
    expect_embedding_parity({random_size(draw, 300), random_size(draw, 500), random_size(draw, 200)}, at::kFloat);
}

TEST(EmbeddingParity, PartsOfTheTableAddUpToTheWholeWithItsBits) {
  for (const at::ScalarType dtype : dtypes) {
    const at::Tensor ids = random_ids("ids", 60, 11), table = random_normal("table", {11, 5}).to(dtype);
    const at::Tensor dx = random_normal("dx", {60, 5}).to(dtype), whole_dtable = dtable_of(dx, ids, 0, 11);
    at::Tensor x = at::zeros({60, 5}, dtype);
    for (const auto& [first, count] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 4}, {4, 1}, {5, 6}}) {
      x = x + embedding_forward(ids, table.narrow(0, first, count), first);
      EXPECT_TRUE(at::equal(dtable_of(dx, ids, first, count), whole_dtable.narrow(0, first, count))) << first;
    }
    EXPECT_TRUE(at::equal(x, embedding_forward(ids, table, 0)));
  }
}

TEST(EmbeddingParity, APartThatHoldsNoIdGivesZeros) {
  const at::Tensor ids = at::tensor({0, 3, 9, 3}, at::kLong), table = random_normal("table", {4, 2});
  EXPECT_TRUE(at::equal(embedding_forward(ids, table, 4), at::zeros({4, 2})));
  EXPECT_EQ(tensor::theirs(embedding_backward_weight(random_normal("dx", {4, 2}), ids, 4, 4).row_r).numel(), 0);
  EXPECT_EQ(tensor::theirs(reference::embedding_backward_weight(random_normal("dx", {4, 2}), ids, 4, 4).row_r).numel(), 0);
}

TEST(EmbeddingParity, AGradientThatIsNotANumberStaysOutOfPartsThatDoNotHoldItsId) {
  at::Tensor dx = at::ones({2, 2});
  dx[1].fill_(std::numeric_limits<float>::infinity());
  const at::Tensor dtable = dtable_of(dx, at::tensor({1, 5}, at::kLong), 0, 4);
  EXPECT_TRUE(at::equal(dtable, at::tensor({0.f, 0.f, 1.f, 1.f, 0.f, 0.f, 0.f, 0.f}).view({4, 2})));
}

TEST(EmbeddingParity, OnlyRowsThatATokenNamesHaveAGradient) {
  const NamedRows rows = embedding_backward_weight(at::ones({3, 2}), at::tensor({2, 2, 0}, at::kLong), 0, 4);
  EXPECT_TRUE(at::equal(rows.row_r, at::tensor({0, 2}, at::kLong)));
  EXPECT_TRUE(at::equal(rows.gradient_rD, at::tensor({1.f, 1.f, 2.f, 2.f}).view({2, 2})));
}

TEST(EmbeddingParity, InFp32AddsTheRowsOfATokenInTheirOrder) {
  const at::Tensor ids = random_ids("ids", 200, 3), dx = random_normal("dx", {200, 17});
  at::Tensor want = at::zeros({3, 17});
  for (std::int64_t m = 0; m < 200; ++m) want[ids[m].item<std::int64_t>()].add_(dx[m]);
  EXPECT_TRUE(at::equal(dtable_of(dx, ids, 0, 3), want));
}

// Rows that do not begin at a cache line.
TEST(EmbeddingParity, ALargeTableGetsTheGradientOfTheReference) {
  constexpr std::int64_t M = 3000, v = 20011, D = 67, first_row = 500;
  const at::Tensor ids = random_ids("ids", M, 30000), dx = random_normal("dx", {M, D});
  const NamedRows got = embedding_backward_weight(dx, ids, first_row, v),
                  want = reference::embedding_backward_weight(dx, ids, first_row, v);
  EXPECT_TRUE(at::equal(got.row_r, want.row_r));
  EXPECT_TRUE(at::equal(got.gradient_rD, want.gradient_rD));
  const at::Tensor table = random_normal("table", {v, D});
  EXPECT_TRUE(at::equal(embedding_forward(ids, table, first_row), reference::embedding_forward(ids, table, first_row)));
}

TEST(EmbeddingParity, HasTheSameBitsOnOneTwoAndThreeThreads) {
  const int before = tensor::threads();
  const at::Tensor ids = random_ids("ids", 5000, 1009), dx = random_normal("dx", {5000, 130});
  const at::Tensor table = random_normal("table", {1009, 130});
  tensor::set_threads(1);
  const at::Tensor alone = dtable_of(dx, ids, 0, 1009);
  const at::Tensor x_alone = embedding_forward(ids, table, 0);
  for (const int threads : {2, 3}) {
    tensor::set_threads(threads);
    EXPECT_TRUE(at::equal(dtable_of(dx, ids, 0, 1009), alone)) << threads;
    EXPECT_TRUE(at::equal(embedding_forward(ids, table, 0), x_alone)) << threads;
  }
  tensor::set_threads(before);
}

}  // namespace
}  // namespace troika::kernels
