#include "tensor/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tensor/libtorch_test_support.h"

namespace troika::tensor {
namespace {

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
}

TEST(PickDevice, AutoAndCudaAgreeOnWhetherThisMachineHasCuda) {
  const Device chosen = pick_device("auto", 0);
  if (chosen.is_cpu()) {
    EXPECT_THAT(error_of("cuda"), testing::AllOf(HasSubstr("train.device"), HasSubstr("no CUDA back end"),
                                               HasSubstr("--device cpu")));
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

TEST(SetThreads, BoundsTheThreadsOfOperations) {
  const int before = threads();
  set_threads(2);
  EXPECT_EQ(threads(), 2);
  set_threads(1);
  EXPECT_EQ(threads(), 1);
  set_threads(before);
}

TEST(FloatTensors, AreContiguousAndOnTheirDevice) {
  const Tensor empty = empty_float({2, 3}, Device()), zeros = zeros_float({2, 3}, Device());
  for (const auto& t : {empty, zeros}) {
    EXPECT_TRUE(t.is_contiguous());
    EXPECT_EQ(t.dtype(), Dtype::fp32);
    EXPECT_EQ(t.sizes(), (Sizes{2, 3}));
  }
  EXPECT_TRUE(at::equal(theirs(zeros), at::zeros({2, 3})));
}

TEST(Synchronize, OfTheCpuReturns) { synchronize(Device()); }

}  // namespace
}  // namespace troika::tensor
