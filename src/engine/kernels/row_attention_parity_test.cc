#include <gtest/gtest.h>

#include "cpu/targets_test_support.h"
#include "kernels/attention.h"
#include "kernels/parity_test_support.h"
#include "tensor/device.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

struct RowShape {
  std::int64_t n, k, H;
  std::vector<std::int64_t> S;
};

const std::vector<RowShape> shapes{{1, 1, 1, {1}},         {4, 2, 16, {1, 7, 40}}, {6, 1, 10, {33, 5}},
                                {12, 12, 64, {130, 1}}, {8, 2, 100, {17}},      {16, 8, 128, {70, 300, 2}}};

// Heads of each cache have gaps between them, as in one that has room for more.
std::vector<KeysAndValues> caches(const RowShape& s, at::ScalarType dtype) {
  std::vector<KeysAndValues> all;
  for (const std::int64_t S : s.S) {
    const auto view = [&](const char* name) {
      return random_normal(name, {s.k, S + 3, s.H}).to(dtype).narrow(1, 0, S).transpose(0, 1);
    };
    all.push_back({view("k"), view("v")});
  }
  return all;
}

at::Tensor exact(const at::Tensor& q_nH, const KeysAndValues& cache) {
  const std::int64_t group = q_nH.size(0) / cache.k_SkH.size(1);
  const auto by_head = [&](const at::Tensor& x_SkH) {
    return x_SkH.to(at::kDouble).repeat_interleave(group, 1).transpose(0, 1);
  };
  const at::Tensor q_n1H = q_nH.to(at::kDouble).unsqueeze(1);
  const at::Tensor scores = at::matmul(q_n1H, by_head(cache.k_SkH).transpose(1, 2)) / std::sqrt(double(q_nH.size(1)));
  return at::matmul(at::softmax(scores, 2), by_head(cache.v_SkH)).squeeze(1);
}

void expect_exact(at::ScalarType dtype) {
  Parity parity(dtype);
  for (const RowShape& s : shapes) {
    const auto all = caches(s, dtype);
    const at::Tensor q = random_normal("q", {static_cast<std::int64_t>(s.S.size()), s.n, s.H}).mul_(2).to(dtype);
    const at::Tensor got = row_attention(q, all);
    EXPECT_EQ(got.scalar_type(), dtype);
    for (std::size_t b = 0; b < all.size(); ++b)
      parity.compare("out", got[static_cast<std::int64_t>(b)], exact(q[static_cast<std::int64_t>(b)], all[b]));
  }
}

TEST(RowAttentionParity, AgreesWithDoubleInEveryDtype) {
  for (const at::ScalarType dtype : dtypes) expect_exact(dtype);
}

TEST(RowAttentionParity, AgreesWithDoubleOnEveryTarget) {
  cpu::on_every_target([] { expect_exact(at::kFloat); });
}

TEST(RowAttentionParity, BitsDependNeitherOnThreadsNorOnOtherSequences) {
  for (const RowShape& s : shapes) {
    const auto all = caches(s, at::kFloat);
    const at::Tensor q = random_normal("q", {static_cast<std::int64_t>(s.S.size()), s.n, s.H});
    const at::Tensor together = row_attention(q, all);
    for (const int threads : {2, 5}) {
      tensor::set_threads(threads);
      EXPECT_TRUE(at::equal(row_attention(q, all), together));
    }
    tensor::set_threads(1);
    for (std::int64_t b = 0; b < q.size(0); ++b)
      EXPECT_TRUE(at::equal(row_attention(q.narrow(0, b, 1), {all[static_cast<std::size_t>(b)]})[0], together[b]));
  }
}

}  // namespace
}  // namespace troika::kernels
