#include "gpu/cudnn_api.h"

#include <gmock/gmock.h>

namespace troika::gpu {
namespace {
using base::Dtype;
using base::Repeatable;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr FlashCase usual{92800, 90, Dtype::bf16, 2048, 2048, 128, Repeatable::yes};

std::string lacks(const FlashCase& of) { return cudnn_lacks(of).english; }

FlashCase with(void (*change)(FlashCase& of)) {
  FlashCase of = usual;
  change(of);
  return of;
}

TEST(FlashTable, TakesWhatModelsHaveOnEveryKindOfGpu) {
  for (const int capability : {80, 86, 89, 90, 100, 120})
    for (const std::int64_t H : {64, 80, 96, 128}) {
      FlashCase of = usual;
      of.capability = capability;
      of.H = H;
      EXPECT_THAT(lacks(of), IsEmpty()) << capability << " " << H;
    }
  EXPECT_THAT(lacks(with([](FlashCase& of) { of.H = 256; })), IsEmpty());
  EXPECT_THAT(lacks(with([](FlashCase& of) { of.dtype = Dtype::fp16; })), IsEmpty());
}

TEST(FlashTable, SaysWhatItDoesNotTake) {
  EXPECT_THAT(lacks(with([](FlashCase& of) { of.dtype = Dtype::fp32; })), HasSubstr("fp32"));
  EXPECT_THAT(lacks(with([](FlashCase& of) { of.H = 36; })), HasSubstr("not 36"));
  EXPECT_THAT(lacks(with([](FlashCase& of) { of.H = 264; })), HasSubstr("up to 256"));
  EXPECT_THAT(lacks(with([](FlashCase& of) { of.capability = 80, of.H = 256; })), HasSubstr("up to 128"));
  EXPECT_THAT(lacks(with([](FlashCase& of) { of.cudnn = 91002, of.S = 2050; })), HasSubstr("a multiple of 128 keys, not 2050"));
  EXPECT_THAT(lacks(with([](FlashCase& of) { of.cudnn = 91002, of.capability = 100; })), HasSubstr("before 9.18"));
}

TEST(FlashTable, EqualBitsTwiceAreGivenUpToTheMemoryThatThePlanCounts) {
  const auto sequence = [](std::int64_t T, Repeatable repeatable) {
    FlashCase of = usual;
    of.T = of.S = T;
    of.repeatable = repeatable;
    return lacks(of);
  };
  EXPECT_THAT(sequence(8192, Repeatable::yes), IsEmpty());
  EXPECT_THAT(sequence(8320, Repeatable::yes), HasSubstr("MiB for each head"));
  EXPECT_THAT(sequence(131072, Repeatable::no), IsEmpty());
}

}  // namespace
}  // namespace troika::gpu
