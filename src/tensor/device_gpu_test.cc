#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tensor/device.h"

namespace troika::tensor {
namespace {

TEST(PickDeviceGpu, SpreadsRanksOverTheDevices) {
  const c10::Device first = pick_device("cuda", 0);
  EXPECT_EQ(first, c10::Device(c10::kCUDA, 0));
  EXPECT_EQ(pick_device("auto", 0), first);
  EXPECT_TRUE(pick_device("cuda", 1000).is_cuda());
  EXPECT_TRUE(pick_device("cpu", 0).is_cpu());
}

TEST(SynchronizeGpu, WaitsForWhatIsQueued) {
  const c10::Device device = pick_device("cuda", 0);
  const at::Tensor x = at::ones({2048, 2048}, at::TensorOptions().device(device));
  at::Tensor y = x;
  for (int i = 0; i < 20; ++i) y = at::mm(x, y).mul_(1.0 / 2048);
  synchronize(device);
  EXPECT_FLOAT_EQ(y.mean().item<float>(), 1.0f);
}

}  // namespace
}  // namespace troika::tensor
