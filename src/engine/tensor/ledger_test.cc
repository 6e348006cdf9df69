#include "tensor/ledger.h"

#include <gtest/gtest.h>

namespace troika::tensor {
namespace {

TEST(Ledger, StartsEmpty) {
  const Ledger ledger;
  EXPECT_EQ(ledger.live(), 0);
  EXPECT_EQ(ledger.peak(), 0);
}

TEST(Ledger, CountsEachUseOnItsOwn) {
  Ledger ledger;
  ledger.hold(MemoryUse::parameters, 100);
  ledger.hold(MemoryUse::activations, 30);
  ledger.hold(MemoryUse::activations, 20);
  ledger.release(MemoryUse::activations, 40);
  EXPECT_EQ(ledger.live(MemoryUse::parameters), 100);
  EXPECT_EQ(ledger.live(MemoryUse::activations), 10);
  EXPECT_EQ(ledger.live(MemoryUse::gradients), 0);
  EXPECT_EQ(ledger.live(), 110);
  EXPECT_EQ(ledger.peak(MemoryUse::activations), 50);
  EXPECT_EQ(ledger.peak(MemoryUse::parameters), 100);
}

TEST(Ledger, ThePeakIsTheLargestSumAtOneTimeNotTheSumOfPeaks) {
  Ledger ledger;
  ledger.hold(MemoryUse::gradients, 70);
  ledger.release(MemoryUse::gradients, 70);
  ledger.hold(MemoryUse::state, 50);
  EXPECT_EQ(ledger.peak(MemoryUse::gradients), 70);
  EXPECT_EQ(ledger.peak(MemoryUse::state), 50);
  EXPECT_EQ(ledger.peak(), 70);
  ledger.hold(MemoryUse::gradients, 30);
  EXPECT_EQ(ledger.peak(), 80);
}

TEST(Ledger, HoldsMoreThanFourGibibytes) {
  Ledger ledger;
  ledger.hold(MemoryUse::parameters, std::int64_t{139} << 30);
  ledger.hold(MemoryUse::state, std::int64_t{139} << 31);
  EXPECT_EQ(ledger.peak(), 3 * (std::int64_t{139} << 30));
}

}  // namespace
}  // namespace troika::tensor
