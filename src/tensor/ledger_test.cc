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
  ledger.hold(Use::parameters, 100);
  ledger.hold(Use::activations, 30);
  ledger.hold(Use::activations, 20);
  ledger.release(Use::activations, 40);
  EXPECT_EQ(ledger.live(Use::parameters), 100);
  EXPECT_EQ(ledger.live(Use::activations), 10);
  EXPECT_EQ(ledger.live(Use::gradients), 0);
  EXPECT_EQ(ledger.live(), 110);
  EXPECT_EQ(ledger.peak(Use::activations), 50);
  EXPECT_EQ(ledger.peak(Use::parameters), 100);
}

TEST(Ledger, ThePeakIsTheLargestSumAtOneTimeNotTheSumOfPeaks) {
  Ledger ledger;
  ledger.hold(Use::gradients, 70);
  ledger.release(Use::gradients, 70);
  ledger.hold(Use::state, 50);
  EXPECT_EQ(ledger.peak(Use::gradients), 70);
  EXPECT_EQ(ledger.peak(Use::state), 50);
  EXPECT_EQ(ledger.peak(), 70);
  ledger.hold(Use::gradients, 30);
  EXPECT_EQ(ledger.peak(), 80);
}

TEST(Ledger, HoldsMoreThanFourGibibytes) {
  Ledger ledger;
  ledger.hold(Use::parameters, std::int64_t{139} << 30);
  ledger.hold(Use::state, std::int64_t{139} << 31);
  EXPECT_EQ(ledger.peak(), 3 * (std::int64_t{139} << 30));
}

}  // namespace
}  // namespace troika::tensor
