#include "train/backend.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "comm/nccl_test_support.h"
#include "tensor/accelerator.h"

namespace troika::train {
namespace {
using config::Backend;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct SomeAccelerator : tensor::Accelerator {
  std::shared_ptr<tensor::Memory> allocate(std::size_t bytes, const tensor::Device& device) override {
    throw tensor::OutOfMemory(bytes, device);
  }
  void copy(const tensor::Tensor&, const tensor::Tensor&) override {}
  void fill(const tensor::Tensor&, double) override {}
  void synchronize(const tensor::Device&) override {}
} some_accelerator;
const tensor::Device cpu, gpu(some_accelerator, 1);

TEST(Backend, IsTcpOnProcessorsAndWhereItIsAskedForAndOfOneRank) {
  for (const BackendChoice& choice : {choose_backend(Backend::automatic, cpu, 4), choose_backend(Backend::gloo, gpu, 2),
                                      choose_backend(Backend::automatic, gpu, 1)}) {
    EXPECT_EQ(choice.backend, Backend::gloo);
    EXPECT_EQ(choice.note, "");
  }
}

TEST(Backend, IsNcclBetweenGpusWhereTheLibraryIsHere) {
  const BackendChoice choice = choose_backend(Backend::automatic, gpu, 2, comm::nccl_stand_in());
  EXPECT_EQ(choice.backend, Backend::nccl);
  EXPECT_EQ(choice.note, "");
}

TEST(Backend, WhyItIsTcpBetweenGpusIsSaid) {
  const BackendChoice old = choose_backend(Backend::automatic, gpu, 2, comm::nccl_too_old());
  EXPECT_EQ(old.backend, Backend::gloo);
  EXPECT_THAT(old.note, AllOf(HasSubstr("messages between GPUs go over TCP"), HasSubstr("is NCCL 2.21.5"),
                              HasSubstr("versions from 2.28.0 to 2.99 are needed: install NCCL 2.28 or later")));
  EXPECT_THAT(choose_backend(Backend::automatic, gpu, 2, "/nowhere/libnccl.so.2").note,
              HasSubstr("cannot load NCCL: /nowhere/libnccl.so.2"));
  EXPECT_THROW(choose_backend(Backend::nccl, gpu, 2, comm::nccl_too_old()), base::ConfigError);
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
