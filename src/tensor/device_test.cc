#include "tensor/device.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

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
  for (const int local_rank : {0, 1, 7}) EXPECT_EQ(pick_device("cpu", local_rank), c10::Device(c10::kCPU));
}

TEST(PickDevice, AutoAndCudaAgreeOnWhetherThisMachineHasCuda) {
  const c10::Device chosen = pick_device("auto", 0);
  if (chosen.is_cpu()) {
    EXPECT_THAT(error_of("cuda"), testing::AllOf(HasSubstr("train.device"), HasSubstr("--device cpu")));
  } else {
    EXPECT_EQ(chosen, c10::Device(c10::kCUDA, 0));
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
  const int before = at::get_num_threads();
  set_threads(2);
  EXPECT_EQ(at::get_num_threads(), 2);
  set_threads(1);
  EXPECT_EQ(at::get_num_threads(), 1);
  set_threads(before);
}

TEST(FloatTensors, AreContiguousAndOnTheirDevice) {
  const at::Tensor empty = empty_float({2, 3}, at::kCPU), zeros = zeros_float({2, 3}, at::kCPU);
  for (const auto& t : {empty, zeros}) {
    EXPECT_TRUE(t.is_contiguous());
    EXPECT_EQ(t.scalar_type(), at::kFloat);
    EXPECT_EQ(t.sizes(), (at::IntArrayRef{2, 3}));
    EXPECT_FALSE(t.requires_grad());
  }
  EXPECT_TRUE(at::equal(zeros, at::zeros({2, 3})));
}

TEST(Synchronize, OfTheCpuReturns) { synchronize(at::kCPU); }

TEST(LibtorchVersion, BeginsWithANumber) {
  EXPECT_THAT(libtorch_version(), testing::ContainsRegex("^[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace troika::tensor
