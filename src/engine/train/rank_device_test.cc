#include "train/rank_device.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "tensor/device.h"

namespace troika::train {
namespace {

std::string refusal_of_cuda() {
  try {
    rank_device("cuda", 0, {});
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(RankDevice, CudaIsRefusedWithTheReasonOfThisBuildAndMachine) {
  const plan::CudaHere here = cuda_of_this_process("cuda", 0);
  const bool with_cuda = here.build == plan::CudaHere::Build::with_cuda;
  if (with_cuda && here.devices > 0) {
    EXPECT_EQ(refusal_of_cuda(), "");
  } else {
    EXPECT_THAT(refusal_of_cuda(), testing::HasSubstr(!with_cuda                                  ? "no CUDA back end"
                                                      : here.driver == host::NvidiaDriver::absent ? "no NVIDIA driver"
                                                                                                  : "0 devices"));
  }
}

TEST(RankDevice, TheCpuTakesAnyNumberOfRanks) { EXPECT_EQ(rank_device("cpu", 5, {100}), tensor::Device()); }

}  // namespace
}  // namespace troika::train
