#include "commands/doctor/doctor.h"

#include <gtest/gtest.h>

namespace troika::commands {
namespace {

TEST(OpenGpus, SaysOfEachLibraryWhatItIsOrWhyItIsNotThere) {
  const doctor::Gpus gpus = open_gpus();
  for (const doctor::Gpus::Library* library : {&gpus.driver, &gpus.blas, &gpus.cudnn, &gpus.nccl}) {
    EXPECT_NE(library->version.empty(), library->trouble.empty()) << library->version;
    EXPECT_EQ(library->version.empty(), library->file.empty());
  }
  EXPECT_NE(gpus.cards.empty(), gpus.trouble.empty());
}

}  // namespace
}  // namespace troika::commands
