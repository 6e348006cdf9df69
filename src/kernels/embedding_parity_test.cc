#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/embedding.h"
#include "kernels/parity_test_support.h"

namespace troika::kernels {
namespace {

TEST(EmbeddingParity, ForwardAndGradientAgreeWithAutograd) {
  Parity parity;
  struct Case {
    std::int64_t M, V, D;
  };
  for (const Case& c : {Case{1, 1, 1}, Case{48, 259, 64}, Case{200, 3, 17}, Case{5, 1000, 33}}) {  // many or no repeats
    const at::Tensor ids = random_ids("ids", c.M, c.V), table = random_normal("table", {c.V, c.D});
    const at::Tensor dx = random_normal("dx", {c.M, c.D}), table_ref = leaf(table);
    const at::Tensor one_hot = (ids.unsqueeze(1) == at::arange(c.V)).to(at::kDouble);
    const at::Tensor x_ref = at::matmul(one_hot, table_ref);
    differentiate(x_ref, dx);

    EXPECT_TRUE(at::equal(embedding_forward(ids, table), x_ref.detach().to(at::kFloat)));
    const at::Tensor dtable = at::full({c.V, c.D}, 42.0f);
    embedding_backward_weight(dx, ids, dtable);
    parity.compare("dtable", dtable, table_ref.grad());
  }
}

TEST(EmbeddingParity, RowsThatNoTokenNamesGetAZeroGradient) {
  const at::Tensor dtable = at::full({4, 2}, 42.0f);
  embedding_backward_weight(at::ones({3, 2}), at::tensor({2, 2, 0}, at::kLong), dtable);
  EXPECT_TRUE(at::equal(dtable, at::tensor({1.f, 1.f, 0.f, 0.f, 2.f, 2.f, 0.f, 0.f}).view({4, 2})));
}

}  // namespace
}  // namespace troika::kernels
