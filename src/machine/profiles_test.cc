#include "machine/profiles.h"

#include <gmock/gmock.h>

namespace troika::machine {
namespace {

TEST(Profiles, KnowAcceleratorsByTheNamesOfTheirDrivers) {
  const auto name = [](const std::string& model) {
    const Accelerator* found = accelerator_called(model);
    return found == nullptr ? "none" : found->name;
  };
  EXPECT_EQ(name("NVIDIA A100-SXM4-80GB"), "a100-80");
  EXPECT_EQ(name("NVIDIA A100-SXM4-40GB"), "a100-40");
  EXPECT_EQ(name("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(name("NVIDIA H200"), "h200");
  EXPECT_EQ(name("NVIDIA GeForce RTX 3090"), "rtx-3090");
  EXPECT_EQ(name("Tesla V100-SXM2-32GB"), "v100");
  EXPECT_EQ(name("Tesla T4"), "t4");
  EXPECT_EQ(name("NVIDIA T400 4GB"), "none");
  EXPECT_EQ(name(""), "none");
}

}  // namespace
}  // namespace troika::machine
