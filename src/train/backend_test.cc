#include "train/backend.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace troika::train {
namespace {
using config::Backend;
using ::testing::HasSubstr;

const c10::Device cpu(c10::kCPU), gpu(c10::kCUDA, 1);

std::string refusal(const c10::Device& device, const RanksAndDevices& counts) {
  try {
    backend_of(Backend::nccl, device, counts);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no refusal";
}

TEST(Backend, IsGlooOnProcessorsAndWhereItIsAskedForAndOfOneRank) {
  EXPECT_EQ(backend_of(Backend::automatic, cpu, {4, 4, 0}), Backend::gloo);
  EXPECT_EQ(backend_of(Backend::gloo, gpu, {2, 2, 2}), Backend::gloo);
  EXPECT_EQ(backend_of(Backend::automatic, gpu, {1, 1, 1}), Backend::gloo);
}

TEST(Backend, IsGlooWhenRanksShareAGpuUnlessNcclIsAskedFor) {
  EXPECT_EQ(backend_of(Backend::automatic, gpu, {2, 2, 1}), Backend::gloo);
  EXPECT_THAT(refusal(gpu, {8, 4, 2}), HasSubstr("4 ranks share the 2 GPUs of this host; start 2 ranks here"));
}

TEST(Backend, IsDescribedWithTheVariablesThatItsLibrariesRead) {
  const auto variables = device_variables({{"CUDA_VISIBLE_DEVICES", "1"}, {"HOME", "/"}, {"NCCL_DEBUG", "INFO"}});
  EXPECT_EQ(describe_backend(Backend::gloo, variables),
            "messages between devices: Gloo, through host memory, with CUDA_VISIBLE_DEVICES=1, NCCL_DEBUG=INFO");
}

TEST(Backend, NcclIsRefusedOnAProcessor) {
  EXPECT_THAT(refusal(cpu, {2, 2, 0}), HasSubstr("but this rank computes on cpu; use --comm.backend gloo"));
}

}  // namespace
}  // namespace troika::train
