#include "gpu/device.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace troika::gpu {
namespace {

using tensor::Device;
using testing::HasSubstr;

std::string error_of(const std::string& word) {
  try {
    pick_device(word, 0);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no ConfigError";
}

TEST(PickDevice, CpuIsAlwaysThere) {
  for (const int local_rank : {0, 1, 7}) EXPECT_EQ(pick_device("cpu", local_rank), Device());
  EXPECT_EQ(name_of(Device()), "cpu");
}

TEST(PickDevice, AutoAndCudaAgreeOnWhetherThisMachineHasCuda) {
  const Device chosen = pick_device("auto", 0);
  if (chosen.is_cpu()) {
    EXPECT_THAT(error_of("cuda"), testing::AllOf(HasSubstr("train.device"), HasSubstr(nvidia_here().missing.english)));
  } else {
    EXPECT_EQ(chosen.index(), 0);
    EXPECT_EQ(pick_device("cuda", 0), chosen);
  }
}

TEST(PickDevice, RefusesAnUnknownWordAndNamesTheChoices) {
  for (const char* word : {"gpu", "", "CPU", "cuda:x"}) {
    EXPECT_THAT(error_of(word), testing::AllOf(HasSubstr("'" + std::string(word) + "'"), HasSubstr("auto"),
                                               HasSubstr("cpu"), HasSubstr("cuda")));
  }
}

}  // namespace
}  // namespace troika::gpu
