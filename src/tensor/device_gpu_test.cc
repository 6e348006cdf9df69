#include <gtest/gtest.h>

#include "tensor/device.h"
#include "tensor/operations.h"

namespace troika::tensor {
namespace {

TEST(PickDeviceGpu, SpreadsRanksOverTheDevices) {
  const Device first = pick_device("cuda", 0);
  EXPECT_TRUE(first.is_cuda());
  EXPECT_EQ(first.index(), 0);
  EXPECT_EQ(pick_device("auto", 0), first);
  EXPECT_TRUE(pick_device("cuda", 1000).is_cuda());
  EXPECT_TRUE(pick_device("cpu", 0).is_cpu());
}

TEST(SynchronizeGpu, WaitsForWhatIsQueued) {
  const Device device = pick_device("cuda", 0);
  const Tensor x = ones({2048, 2048}, device), y = zeros({2048, 2048}, device);
  for (int i = 0; i < 20; ++i) add(y, x);
  synchronize(device);
  EXPECT_FLOAT_EQ(static_cast<float>(largest(y)), 20.0f);
}

}  // namespace
}  // namespace troika::tensor
