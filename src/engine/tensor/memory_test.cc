#include "tensor/memory.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "tensor/libtorch_test_support.h"

namespace troika::tensor {
namespace {

double resident_mebibytes() {
  std::ifstream pages("/proc/self/statm");
  double all = 0, resident = 0;
  pages >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

class KeptMemory : public testing::Test {
 protected:
  static void SetUpTestSuite() { keep_freed_memory(); }
};

TEST_F(KeptMemory, AlignsTensorsOfEverySize) {
  for (const std::int64_t elements : {1, 1000, 300000, 3000000}) {
    const Tensor t = ones({elements});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data()) % 64, 0u) << elements;
    EXPECT_EQ(theirs(t).sum().item<double>(), static_cast<double>(elements));
  }
}

TEST_F(KeptMemory, LetsTensorsGrowShrinkAndBeEmpty) {
  Tensor t = empty({0});
  EXPECT_EQ(t.elements(), 0);
  for (const std::int64_t elements : {10, 2000000, 3, 0, 700000}) {
    t = empty({elements});
    t.fill(2);
    EXPECT_EQ(theirs(t).sum().item<double>(), 2.0 * static_cast<double>(elements));
  }
}

// As activations of a small model give way to its sums of gradients. A sanitizer's build has the C library alone.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(KeptMemory, GivesLargeTensorsTheMemoryOfManySmallOnes) {
  const double before = resident_mebibytes();
  std::vector<Tensor> tensors;
  for (int i = 0; i < 1024; ++i) tensors.push_back(ones({1 << 14}));  // 64 KiB each
  const Tensor later = ones({1 << 14});                           // none of the heap behind it would go back
  tensors.clear();
  for (int i = 0; i < 8; ++i) tensors.push_back(ones({1 << 21}));  // 8 MiB each
  EXPECT_LT(resident_mebibytes() - before, 64 + 8);
}
#endif

TEST_F(KeptMemory, SaysSoWhenThereIsNoMemory) {
  try {
    empty({std::int64_t{1} << 60}, Dtype::uint8);
    FAIL();
  } catch (const OutOfMemory& error) {
    EXPECT_STREQ(error.what(), "can't allocate memory: a tensor needs 1152921504606846976 bytes");
  }
  EXPECT_EQ(theirs(ones({3})).sum().item<double>(), 3);
}

}  // namespace
}  // namespace troika::tensor
