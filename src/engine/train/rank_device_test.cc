#include "train/rank_device.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "comm/nccl_test_support.h"
#include "gpu/host_accelerator_test_support.h"
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

namespace {
using config::Backend;
using ::testing::AllOf;
using ::testing::HasSubstr;

gpu::HostAccelerator some_accelerator(2);
const tensor::Device cpu, card(some_accelerator, 1);

TEST(Backend, IsTcpOnProcessorsAndWhereItIsAskedForAndOfOneRank) {
  for (const BackendChoice& choice :
       {choose_backend(Backend::automatic, cpu, 4), choose_backend(Backend::gloo, card, 2),
        choose_backend(Backend::automatic, card, 1)}) {
    EXPECT_EQ(choice.backend, Backend::gloo);
    EXPECT_TRUE(choice.note.empty());
  }
}

TEST(Backend, IsNcclBetweenGpusWhereTheLibraryIsHere) {
  const BackendChoice choice = choose_backend(Backend::automatic, card, 2, comm::nccl_stand_in());
  EXPECT_EQ(choice.backend, Backend::nccl);
  EXPECT_TRUE(choice.note.empty());
}

TEST(Backend, WhyItIsTcpBetweenGpusIsSaid) {
  const BackendChoice old = choose_backend(Backend::automatic, card, 2, comm::nccl_too_old());
  EXPECT_EQ(old.backend, Backend::gloo);
  EXPECT_THAT(old.note.english,
              AllOf(HasSubstr("messages between GPUs use TCP"), HasSubstr("is NCCL 2.21.5"),
                    HasSubstr("versions from 2.28.0 to 2.99 are needed: install NCCL 2.28 or later")));
  EXPECT_THAT(choose_backend(Backend::automatic, card, 2, "/nowhere/libnccl.so.2").note.english,
              HasSubstr("cannot load NCCL: /nowhere/libnccl.so.2"));
  EXPECT_THROW(choose_backend(Backend::nccl, card, 2, comm::nccl_too_old()), base::ConfigError);
}

TEST(Backend, IsDescribedWithTheVariablesThatItsLibrariesRead) {
  const auto variables = device_variables({{"CUDA_VISIBLE_DEVICES", "1"}, {"HOME", "/"}, {"NCCL_DEBUG", "INFO"}});
  EXPECT_EQ(describe_backend(Backend::gloo, variables),
            "messages between devices: TCP, through host memory, with CUDA_VISIBLE_DEVICES=1, NCCL_DEBUG=INFO");
}

TEST(Backend, NcclIsRefusedOnAProcessor) {
  try {
    choose_backend(Backend::nccl, cpu, 2);
    ADD_FAILURE() << "no refusal";
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("but this rank computes on cpu; use --comm.backend gloo"));
  }
}

}  // namespace

}  // namespace troika::train
