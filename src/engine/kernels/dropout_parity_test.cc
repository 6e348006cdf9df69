#include <gtest/gtest.h>

#include <cmath>

#include "kernels/rows.h"
#include "tensor/device.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

const base::Philox stream(7, "dropout");
constexpr double share = 0.3;

at::Tensor mask(const DropoutRows& rows, std::int64_t first, std::int64_t columns) {
  std::int64_t M = 0;
  for (const DropoutRows::Run& run : rows.runs) M += run.count;
  return dropout(at::ones({M, columns}), stream, rows, first, share);
}

TEST(DropoutParity, DropsTheShareAndKeepsTheMean) {
  const at::Tensor m = mask({1, {{0, 0, 8}, {1, 0, 8}, {2, 0, 8}, {3, 0, 8}}}, 0, 4001);
  const double dropped = (m == 0).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(dropped, share, 5 * std::sqrt(share * (1 - share) / static_cast<double>(m.numel())));
  EXPECT_NEAR(m.max().item<double>(), 1 / (1 - share), 2e-5);
}

TEST(DropoutParity, AnElementIsDroppedByWhatItIsAndNotByWhereItIsComputed) {
  const DropoutRows whole{3, {{20, 0, 6}, {21, 0, 6}}};
  const at::Tensor all = mask(whole, 0, 30).view({2, 6, 30});
  EXPECT_TRUE(at::equal(mask(whole, 13, 11).view({2, 6, 11}), all.narrow(2, 13, 11))) << "columns of another rank";
  const at::Tensor some = mask({3, {{21, 1, 1}, {21, 4, 1}}}, 0, 30);
  EXPECT_TRUE(at::equal(some[0], all[1][1])) << "another microbatch and other positions";
  EXPECT_TRUE(at::equal(some[1], all[1][4]));
}

TEST(DropoutParity, EveryStepSamplePositionAndNameDropsOthers) {
  const at::Tensor one = mask({3, {{20, 5, 1}}}, 0, 400);
  EXPECT_FALSE(at::equal(mask({4, {{20, 5, 1}}}, 0, 400), one));
  EXPECT_FALSE(at::equal(mask({3, {{21, 5, 1}}}, 0, 400), one));
  EXPECT_FALSE(at::equal(mask({3, {{20, 6, 1}}}, 0, 400), one));
  EXPECT_FALSE(at::equal(dropout(at::ones({1, 400}), base::Philox(7, "other"), {3, {{20, 5, 1}}}, 0, share), one));
}

TEST(DropoutParity, BitsDoNotDependOnTheNumberOfThreads) {
  const int before = tensor::threads();
  std::vector<at::Tensor> masks;
  for (const int threads : {1, 3}) {
    tensor::set_threads(threads);
    masks.push_back(mask({1, {{0, 0, 7}, {1, 0, 40}}}, 5, 77));
  }
  tensor::set_threads(before);
  EXPECT_TRUE(at::equal(masks[0], masks[1]));
}

TEST(DropoutParity, HalvesAreDroppedAlike) {
  const at::Tensor x = at::randn({3, 50}).to(at::kBFloat16);
  const DropoutRows rows{1, {{2, 0, 3}}};
  const at::Tensor y = dropout(x, stream, rows, 0, share), m = mask(rows, 0, 50);
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(y, (x.to(at::kFloat) * m).to(at::kBFloat16)));
}

}  // namespace
}  // namespace troika::kernels
