#include "tensor/device.h"

#include <gtest/gtest.h>

#include "tensor/libtorch_test_support.h"

namespace troika::tensor {
namespace {

TEST(SetThreads, BoundsTheThreadsOfOperations) {
  const int before = threads();
  set_threads(2);
  EXPECT_EQ(threads(), 2);
  set_threads(1);
  EXPECT_EQ(threads(), 1);
  set_threads(before);
}

TEST(FloatTensors, AreContiguousAndOnTheirDevice) {
  const Tensor empty = empty_float({2, 3}, Device()), zeros = zeros_float({2, 3}, Device());
  for (const auto& t : {empty, zeros}) {
    EXPECT_TRUE(t.is_contiguous());
    EXPECT_EQ(t.dtype(), Dtype::fp32);
    EXPECT_EQ(t.sizes(), (Sizes{2, 3}));
  }
  EXPECT_TRUE(at::equal(theirs(zeros), at::zeros({2, 3})));
}

TEST(Synchronize, OfTheCpuReturns) { synchronize(Device()); }

}  // namespace
}  // namespace troika::tensor
