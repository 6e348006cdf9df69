#include "plan/device_rates.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace troika::plan {
namespace {
using testing::AllOf;
using testing::HasSubstr;

TEST(DeviceRates, BoundAnOperationByTheSlowerOfTwo) {
  const DeviceRates rates{"x", 100, 10, ""};
  EXPECT_EQ(bound_time({200, 5}, rates).seconds, 2);
  EXPECT_EQ(bound_time({200, 5}, rates).by, Bound::products);
  EXPECT_EQ(bound_time({0, 5}, rates).seconds, 0.5);
  EXPECT_EQ(bound_time({0, 5}, rates).by, Bound::memory);
}

TEST(DeviceRates, SayWhatKindOfNumberTheyAre) {
  for (const DeviceRates& rates : all_device_rates()) {
    EXPECT_THAT(rates.source, testing::AnyOf(HasSubstr("measured"), HasSubstr("data sheet"))) << rates.name;
    EXPECT_GT(rates.flops_per_second, rates.bytes_per_second) << rates.name;
    EXPECT_EQ(find_device_rates(rates.name).source, rates.source);
  }
}

TEST(DeviceRates, AreThoseOfTheCardInAnySpelling) {
  EXPECT_EQ(find_device_rates("RTX 4090").name, "rtx-4090");
  EXPECT_EQ(find_device_rates("NVIDIA H200").name, "h200");
}

TEST(DeviceRates, RefuseAnotherNameWithTheNearest) {
  try {
    find_device_rates("h201");
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("--device-rates h201"), HasSubstr("(did you mean h200?)"),
                                    HasSubstr("--tflops and --terabytes")));
  }
}

}  // namespace
}  // namespace troika::plan
