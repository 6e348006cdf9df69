#include "tensor/caching_allocator.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troika::tensor {
namespace {

class CachingAllocator : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_caching_allocator(); }
};

TEST_F(CachingAllocator, AlignsTensorsOfEverySize) {
  for (const std::int64_t elements : {1, 1000, 300000, 3000000}) {
    const at::Tensor t = at::ones({elements});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data_ptr()) % 64, 0u) << elements;
    EXPECT_EQ(t.sum().item<double>(), static_cast<double>(elements));
  }
}

TEST_F(CachingAllocator, LetsTensorsGrowShrinkAndBeEmpty) {
  at::Tensor t = at::empty({0});
  EXPECT_EQ(t.numel(), 0);
  for (const std::int64_t elements : {10, 2000000, 3, 0, 700000}) {
    t.resize_({elements});
    t.fill_(2);
    EXPECT_EQ(t.sum().item<double>(), 2.0 * static_cast<double>(elements));
  }
}

TEST_F(CachingAllocator, SaysSoWhenThereIsNoMemory) {
  try {
    at::empty({std::int64_t{1} << 60}, at::kByte);
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("allocate"));
  }
  EXPECT_EQ(at::ones({3}).sum().item<double>(), 3);
}

}  // namespace
}  // namespace troika::tensor
