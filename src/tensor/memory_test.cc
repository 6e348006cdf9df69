#include "tensor/caching_allocator.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <vector>

namespace troika::tensor {
namespace {

double resident_mebibytes() {
  std::ifstream pages("/proc/self/statm");
  double all = 0, resident = 0;
  pages >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

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

// As activations of a small model give way to its sums of gradients. A sanitizer's build has the C library alone.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(CachingAllocator, GivesLargeTensorsTheMemoryOfManySmallOnes) {
  const double before = resident_mebibytes();
  std::vector<at::Tensor> tensors;
  for (int i = 0; i < 1024; ++i) tensors.push_back(at::ones({1 << 14}));  // 64 KiB each
  const at::Tensor later = at::ones({1 << 14});                           // none of the heap behind it would go back
  tensors.clear();
  for (int i = 0; i < 8; ++i) tensors.push_back(at::ones({1 << 21}));  // 8 MiB each
  EXPECT_LT(resident_mebibytes() - before, 64 + 8);
}
#endif

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
