#include "machine/capability.h"

#include <gtest/gtest.h>

namespace troika::machine {
namespace {

TEST(Capability, KernelsExistFrom80On) {
  for (const Capability card : {Capability{8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}})
    EXPECT_FALSE(lack_of_card(card)) << to_text(card);
  EXPECT_EQ(lack_of_card({7, 5})->english, "Troika's kernels need compute capability 8.0 or later, and this card has 7.5");
  EXPECT_EQ(lack_of_card({7, 0})->chinese, "Troika 的内核需要计算能力 8.0 及以上，而该显卡为 7.0");
}

TEST(Capability, ADriverIsAsNewAsCudaNeeds) {
  EXPECT_EQ(lack_of_driver(520, 12)->english, "driver 520 is older than 525, which CUDA 12 needs; update it");
  EXPECT_EQ(lack_of_driver(570, 13)->chinese, "驱动 570 早于 CUDA 13 所需的 580；请更新驱动");
  EXPECT_FALSE(lack_of_driver(525, 12));
  EXPECT_FALSE(lack_of_driver(1, 99)) << "what is not known is no lack";
}

}  // namespace
}  // namespace troika::machine
