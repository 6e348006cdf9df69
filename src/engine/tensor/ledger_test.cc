#include "tensor/ledger.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tensor/libtorch_test_support.h"

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

namespace {

constexpr std::int64_t large = 3 << 20;  // elements: far beyond what the heap is used for

TEST(Booked, CountsTheBytesForAsLongAsAnyViewLives) {
  Ledger ledger;
  for (const std::int64_t elements : {std::int64_t{0}, std::int64_t{10}, large}) {
    Tensor view;
    {
      const Tensor whole = booked_empty(elements, Dtype::fp32, Device(), ledger, MemoryUse::state);
      EXPECT_EQ(whole.elements(), elements);
      EXPECT_TRUE(whole.is_contiguous());
      view = whole.narrow(0, elements / 2, elements - elements / 2);
    }
    EXPECT_EQ(ledger.live(MemoryUse::state), 4 * elements);
    view.fill(1);
    EXPECT_EQ(theirs(view).sum().item<double>(), static_cast<double>(view.elements()));
    view = {};
    EXPECT_EQ(ledger.live(), 0);
  }
  EXPECT_EQ(ledger.peak(MemoryUse::state), 4 * large);
}

TEST(Booked, HalvesTakeTwoBytes) {
  Ledger ledger;
  const Tensor whole = booked_empty(large, Dtype::bf16, Device(), ledger, MemoryUse::parameters);
  EXPECT_EQ(whole.dtype(), Dtype::bf16);
  EXPECT_EQ(ledger.live(MemoryUse::parameters), 2 * large);
}

TEST(Booked, WhatDoesNotFitIsRefusedWithItsNumbersAndARemedy) {
  Ledger ledger;
  ledger.hold(MemoryUse::parameters, 5 << 20);
  try {
    booked_empty(std::int64_t{1} << 60, Dtype::uint8, Device(), ledger, MemoryUse::gradients);
    FAIL();
  } catch (const base::ConfigError& error) {
    const std::string text = error.what();
    for (const char* part : {"out of memory", "gradients", "5.00 MiB", "--zero 3"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(ledger.live(), 5 << 20);
}

}  // namespace

}  // namespace troika::tensor
