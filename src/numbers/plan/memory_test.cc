#include "plan/memory.h"

#include <gtest/gtest.h>

namespace troika::plan {
namespace {

TEST(Memory, TheTotalIsTheMostThatIsThereAtOnceAndTheProgram) {
  Memory most;
  most.program = 50000;
  most.note({100, 20, 3, 0});
  most.note({1, 2, 3, 400});
  EXPECT_EQ(most.parameters, 100);
  EXPECT_EQ(most.gradients, 20);
  EXPECT_EQ(most.state, 3);
  EXPECT_EQ(most.activations, 400);
  EXPECT_EQ(most.total(), 50000 + 1 + 2 + 3 + 400);
}

TEST(Memory, WhatIsCopiedForCheckpointsIsNotThereBeforeTheFirst) {
  Memory most;
  most.note({100, 20, 3, 0});
  most.snapshot = 1000;
  EXPECT_EQ(most.total(), 123);
  EXPECT_EQ(most.with_saving(), 1123);
  EXPECT_NE(text_of(most).english.find("123 B (parameters"), std::string::npos) << text_of(most).english;
  EXPECT_NE(text_of(most).english.find(" while a checkpoint is saved during training"), std::string::npos);
}

TEST(Memory, TheLogitsOfAChunkAreThereWhileALossIsComputed) {
  Memory most;
  most.note({100, 20, 3, 0});
  most.note_loss({50, 0, 3, 30}, 500);
  EXPECT_EQ(most.at_once, 123);
  EXPECT_EQ(most.total(), 583);
  most.snapshot = 1000;
  EXPECT_EQ(most.with_saving(), 1583);
}

TEST(Memory, OfAGpuHasWhatItsOperationsTakeAndNotTheStateOnTheHost) {
  Memory most;
  most.note({100, 20, 30, 40});
  most.note_operation({100, 20, 30, 10}, 500);
  most.snapshot = 1000;
  EXPECT_EQ(most.total(), 190) << "of a host";
  EXPECT_EQ(on_gpu(most, config::Offload::none).with_saving(), gpu_program_bytes + 660);
  EXPECT_EQ(on_gpu(most, config::Offload::host).with_saving(), gpu_program_bytes + 630);
}

TEST(Memory, OfStateThatIsOffloadedAGpuHasWhatIsFetchedAndItsHostTheRest) {
  Memory most;
  most.note({100, 20, 300, 40});
  most.note({100, 20, 300, 0, 50});  // in the step
  most.snapshot = 1000;
  const Memory gpu = on_gpu(most, config::Offload::host), host = beside_gpu(most, config::Offload::host);
  EXPECT_EQ(gpu.with_saving(), gpu_program_bytes + 170);
  EXPECT_EQ(gpu.state, 50);
  EXPECT_EQ(host.total(), gpu_host_program_bytes + 300);
  EXPECT_EQ(host.with_saving(), gpu_host_program_bytes + 1300);
  EXPECT_EQ(beside_gpu(most, config::Offload::none).with_saving(), gpu_host_program_bytes + 1000);
}

TEST(Memory, ThatAGpuTookClearlyMoreThanItsTensorsIsSeen) {
  Memory most;
  most.note({std::int64_t{1} << 30, 0, 0, 0});
  const Memory planned = on_gpu(most, config::Offload::none);
  EXPECT_FALSE(took_more(planned, (std::int64_t{1} << 30) + (100 << 20)));
  EXPECT_TRUE(took_more(planned, (std::int64_t{1} << 30) + (120 << 20)));
}

TEST(Memory, NamesEveryPart) {
  const std::string text = text_of(Memory{}).english;
  for (const char* part : {"parameters", "gradients", "optimizer", "activations", "program"})
    EXPECT_NE(text.find(part), std::string::npos);
}

}  // namespace
}  // namespace troika::plan
