#include "train/backend.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "gpu/host_accelerator_test_support.h"

namespace troika::train {
namespace {
using config::Backend;
using ::testing::HasSubstr;

gpu::HostAccelerator some_accelerator(2);
const tensor::Device cpu, card(some_accelerator, 1);

TEST(Backend, IsTcpOnProcessorsAndWhereItIsAskedForAndOfOneRank) {
  EXPECT_EQ(backend_of(Backend::automatic, cpu, 4), Backend::gloo);
  EXPECT_EQ(backend_of(Backend::gloo, card, 2), Backend::gloo);
  EXPECT_EQ(backend_of(Backend::automatic, card, 1), Backend::gloo);
}

TEST(Backend, IsDescribedWithTheVariablesThatItsLibrariesRead) {
  const auto variables = device_variables({{"CUDA_VISIBLE_DEVICES", "1"}, {"HOME", "/"}, {"NCCL_DEBUG", "INFO"}});
  EXPECT_EQ(describe_backend(Backend::gloo, variables),
            "messages between devices: TCP, through host memory, with CUDA_VISIBLE_DEVICES=1, NCCL_DEBUG=INFO");
}

TEST(Backend, NcclIsRefusedOnAProcessor) {
  try {
    backend_of(Backend::nccl, cpu, 2);
    ADD_FAILURE() << "no refusal";
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("but this rank computes on cpu; use --comm.backend gloo"));
  }
}

}  // namespace
}  // namespace troika::train
