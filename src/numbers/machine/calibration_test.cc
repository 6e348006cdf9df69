#include "machine/calibration.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "machine/profiles.h"

namespace troika::machine {
namespace {
using testing::HasSubstr;

class CalibrationFile : public testing::Test {
 protected:
  CalibrationFile() { base::write_file_atomic(machine_, "hosts: []\n"); }

  const base::TemporaryFolder folder_;
  const std::string machine_ = folder_.path() + "/machine.yaml", file_ = folder_.path() + "/calibration.yaml";
};

TEST(Calibration, TheFirstRunCountsWholeAndLaterOnesLess) {
  Calibration::Factor factor;
  learn(factor, 1.5);
  EXPECT_DOUBLE_EQ(factor.seconds, 1.5);
  learn(factor, 1.0);  // now it was predicted well
  EXPECT_DOUBLE_EQ(factor.seconds, 1.5);
  for (int run = 0; run < 100; ++run) learn(factor, 1.5 / factor.seconds * 0.8);
  EXPECT_NEAR(factor.seconds, 1.2, 1e-3);
  learn(factor, 0);
  EXPECT_EQ(factor.runs, 102);
}

TEST(Calibration, SlowsTheRatesDown) {
  const Host before = find_profile("cloud-2-cores").host;
  Calibration calibration;
  learn(calibration.compute[config::Precision::bf16], 2);
  learn(calibration.optimizer, 4);
  const Host after = calibrated(before, calibration);
  EXPECT_DOUBLE_EQ(after.alone.bf16.flops_per_second, before.alone.bf16.flops_per_second / 2);
  EXPECT_DOUBLE_EQ(after.rates.bf16.bytes_per_second, before.rates.bf16.bytes_per_second / 2);
  EXPECT_DOUBLE_EQ(after.rates.fp32.flops_per_second, before.rates.fp32.flops_per_second / 2);  // no run was in it
  EXPECT_DOUBLE_EQ(after.rates.stream_bytes_per_second, before.rates.stream_bytes_per_second / 4);
  EXPECT_THAT(source_of(after).english, HasSubstr("calibrated by 1 run here"));
  EXPECT_EQ(calibrated(before, {}).calibrating_runs, 0);
  learn(calibration.compute[config::Precision::fp32], 3);
  EXPECT_DOUBLE_EQ(calibrated(before, calibration).rates.fp32.flops_per_second, before.rates.fp32.flops_per_second / 3);
}

TEST_F(CalibrationFile, IsReadAsItWasWritten) {
  Calibration calibration;
  learn(calibration.compute[config::Precision::fp32], 1.25);
  learn(calibration.optimizer, 0.75);
  write_calibration(machine_, calibration);
  const Calibration read = read_calibration(machine_);
  EXPECT_DOUBLE_EQ(read.compute.at(config::Precision::fp32).seconds, 1.25);
  EXPECT_EQ(read.compute.size(), 1u);
  EXPECT_DOUBLE_EQ(read.optimizer.seconds, 0.75);
  EXPECT_EQ(read.runs(), 1);
}

TEST_F(CalibrationFile, EndsWithItsMachineFile) {
  Calibration calibration;
  learn(calibration.compute[config::Precision::fp32], 1.25);
  write_calibration(machine_, calibration);
  base::write_file_atomic(machine_, "hosts: [{}]\n");
  EXPECT_EQ(read_calibration(machine_).runs(), 0);
  EXPECT_EQ(read_calibration("").runs(), 0);
}

TEST_F(CalibrationFile, SaysWhatToDoWithADamagedOne) {
  const std::string ours = "machine: \"" + base::hash_file(machine_) + "\"\n";
  for (const std::string& text : {std::string("machine: {"), std::string("compute: 3\n"),
                                  ours + "compute: {fp32: {seconds: -1, runs: 2}}\n", ours + "optimizer: 3\n"}) {
    base::write_file_atomic(file_, text);
    try {
      read_calibration(machine_);
      ADD_FAILURE() << text;
    } catch (const base::ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("calibration.yaml is not a calibration file"));
    }
  }
}

}  // namespace
}  // namespace troika::machine
