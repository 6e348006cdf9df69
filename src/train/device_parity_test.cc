// Whole runs on devices (gpu/host_accelerator_test_support.h) beside the same on the CPU.
#include <gtest/gtest.h>

#include <cmath>

#include "gpu/host_accelerator_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {

class DeviceRuns : public testing::Test {
 protected:
  DeviceRuns() {
    runs_.settings.model.layers = 2;
    runs_.settings.batch.seq_len = 16;
    runs_.settings.batch.global_batch_size = 4;
    runs_.settings.optimizer.lr = 3e-3;
    runs_.settings.train.steps = 3;
  }
  // Each rank has a device of its own.
  Rows on_devices(const std::string& name, const std::string& layout) {
    return runs_.train(name, layout, [&](Surroundings& surroundings, int rank) {
      surroundings.streams = accelerator_.make_streams(tensor::Device(accelerator_, rank));
    });
  }
  void expect_near(const Rows& got, const Rows& want, double tolerance) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_NEAR(got[i].loss, want[i].loss, tolerance * want[i].loss) << "step " << i + 1;
      EXPECT_NEAR(got[i].grad_norm, want[i].grad_norm, 10 * tolerance * want[i].grad_norm) << "step " << i + 1;
    }
    EXPECT_LT(want.back().loss, want.front().loss);
  }

  gpu::HostAccelerator accelerator_{4};  // outlives the runs
  LayoutRuns runs_;
};

TEST_F(DeviceRuns, HaveTheLossesOfTheCpuInEveryPrecision) {
  for (const auto& [precision, tolerance] : {std::pair{"", 1e-5}, {"bf16", 5e-3}, {"fp16", 2e-3}}) {
    const std::string name = std::string("run ") + precision;
    expect_near(on_devices(name + " there", precision), runs_.train(name + " here", precision), tolerance);
  }
}

}  // namespace
}  // namespace troika::train
