// Whole runs on devices (gpu/host_accelerator_test_support.h) beside the same on the CPU. Each rank's device has an accelerator of
// its own, so that what one rank's thread opens is closed for the others.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <initializer_list>

#include "base/file.h"
#include "data/loader.h"
#include "gpu/host_accelerator_test_support.h"
#include "gpu/nvidia_test_support.h"
#include "train/evaluation_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {

class DeviceRuns : public testing::Test {
 protected:
  DeviceRuns() : packed_(packed_samples(16)) {
    runs_.settings.model.layers = 2;
    runs_.settings.batch.seq_len = 16;
    runs_.settings.batch.global_batch_size = 4;
    runs_.settings.optimizer.lr = 3e-3;
    runs_.settings.train.steps = 2;
  }
  Rows on_devices(const std::string& name, const std::string& layout) {
    return runs_.train(name, layout, [&](Surroundings& surroundings, int rank) {
      surroundings.streams = tensor::make_streams(tensor::Device(accelerators_.at(static_cast<std::size_t>(rank)), 0));
      surroundings.hooks.stop_requested = stop_requested_;
    });
  }
  Rows on_late_devices(const std::string& name, const std::string& layout, Saving::Way saving = Saving::Way::in_place) {
    return runs_.train(name, layout, [&](Surroundings& surroundings, int rank) {
      surroundings.streams = tensor::make_streams(tensor::Device(*late_, rank % late_->devices()));
      surroundings.hooks.stop_requested = stop_requested_;
      surroundings.checkpoints->saving.way = saving;
    });
  }
  // The parameters and state in a checkpoint.
  std::map<std::string, std::string> saved(const std::string& run, const std::string& step) const {
    std::map<std::string, std::string> texts;
    for (const char* kind : {"/model", "/state"}) {
      const std::string folder = runs_.folder(run) + "/checkpoints/" + step + kind;
      for (const std::string& name : base::list_directory(folder)) texts[name] = base::read_file(folder + "/" + name);
    }
    return texts;
  }
  // Alone; losses of evaluations as well.
  void expect_near_the_cpu(const std::string& name, const std::string& layout, double tolerance) {
    const Rows got = on_devices(name + " there", layout), want = runs_.train(name + " here", layout);
    expect_near(got, want, tolerance);
    EXPECT_GT(accelerators_[0].products(), 0);
  }
  static void expect_near(const Rows& got, const Rows& want, double tolerance) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_NEAR(got[i].loss, want[i].loss, tolerance * want[i].loss) << "step " << i + 1;
      EXPECT_NEAR(got[i].grad_norm, want[i].grad_norm, 10 * tolerance * want[i].grad_norm) << "step " << i + 1;
      ASSERT_EQ(got[i].extra.count("valid_loss"), want[i].extra.count("valid_loss"));
      if (want[i].extra.count("valid_loss") == 0) continue;
      const double valid_loss = want[i].extra.at("valid_loss");
      EXPECT_NEAR(got[i].extra.at("valid_loss"), valid_loss, tolerance * valid_loss) << "step " << i + 1;
    }
  }

  void expect_saves_beside_training(std::initializer_list<std::string> layouts) {
    runs_.settings.train.steps = 3;
    runs_.settings.checkpoint.every = 1;
    runs_.settings.checkpoint.keep = 5;
    for (const std::string& layout : layouts) {
      on_late_devices("waited " + layout, layout);
      on_late_devices("beside " + layout, layout, Saving::Way::from_snapshot);
      for (const char* step : {"step-00000001", "step-00000002"}) {
        const auto waited = saved("waited " + layout, step);
        EXPECT_GE(waited.size(), 4U) << layout << step;
        EXPECT_TRUE(waited == saved("beside " + layout, step)) << layout << step;
      }
    }
  }

  // They outlive the runs.
  std::array<gpu::HostAccelerator, 4> accelerators_;
  const std::unique_ptr<gpu::Nvidia> late_ = gpu::stand_in_gpus();  // does what is queued only when somebody waits for it
  std::function<bool()> stop_requested_;
  const std::unique_ptr<data::SequenceSamples> packed_;
  LayoutRuns runs_;
};

TEST_F(DeviceRuns, HaveTheLossesOfTheCpuInEveryPrecision) {
  for (const auto& [precision, tolerance] : {std::pair{"", 1e-5}, {"bf16", 5e-3}, {"fp16", 2e-3}})
    expect_near_the_cpu(std::string("run ") + precision, precision, tolerance);
}

TEST_F(DeviceRuns, HaveTheLossesOfTheCpuOnPackedSamplesWithAdaptersAndEvaluations) {
  runs_.samples = runs_.valid = packed_.get();
  runs_.settings.train.eval_every = 2;
  expect_near_the_cpu("packed", "recompute selective", 1e-5);
  runs_.train("base", "");
  runs_.settings.model.path = runs_.folder("base");
  runs_.settings.lora.rank = 3;
  runs_.settings.lora.dropout = 0.2;
  expect_near_the_cpu("adapted", "bf16", 5e-3);
}

TEST_F(DeviceRuns, HaveTheSameLossesInSomeLayouts) {
  const Rows alone = on_devices("alone", "");
  for (const char* layout : {"dp 2 zero 3", "pp 2 zb-h1 recompute selective", "offload host"})
    expect_equal_rows(on_devices(layout, layout), alone, layout);
  expect_near(on_devices("tp 2", "tp 2"), alone, 1e-5);
}

class FullDeviceRuns : public DeviceRuns {};

TEST_F(FullDeviceRuns, HaveTheSameLossesInMoreLayouts) {
  const Rows alone = on_devices("alone", "");
  for (const char* layout : {"dp 2 pp 2 zero 2 recompute full", "dp 2 zero 1 offload file"})
    expect_equal_rows(on_devices(layout, layout), alone, layout);
  expect_near(on_devices("cp 2", "cp 2"), alone, 1e-5);
}

TEST_F(FullDeviceRuns, HaveTheirLossesWhereDevicesAreLateToo) {
  for (const auto& [layout, tolerance] :
       {std::pair{"bf16", 5e-3}, {"dp 2 zero 3", 1e-5}, {"pp 2 zb-h1 recompute full offload host", 1e-5}})
    expect_near(on_late_devices(std::string("late ") + layout, layout), on_devices(layout, layout), tolerance);
}

TEST_F(DeviceRuns, SaveBesideTrainingWhatTheyHadWhenTheSaveBegan) { expect_saves_beside_training({"dp 2 zero 3 bf16"}); }

TEST_F(FullDeviceRuns, SaveBesideTrainingWhatTheyHadWhenTheSaveBegan) { expect_saves_beside_training({"", "pp 2 offload host"}); }

// On the late devices every kernel and copy takes a millisecond of their time, and asking for it takes the host next to none.
TEST_F(DeviceRuns, TellTheTimesOfTheDevice) {
  config::Settings settings = runs_.settings;
  settings.train.out = runs_.folder("timed");
  base::make_directories(settings.train.out);
  const int world = apply_layout("pp 2", &settings);
  const auto outcomes = train_on_threads(settings, world, runs_.stream(), [&](Surroundings& surroundings, int rank) {
    surroundings.streams = tensor::make_streams(tensor::Device(*late_, rank));
  });
  double forwards = 0, backwards = 0;
  for (const Outcome& outcome : outcomes) {
    std::map<std::string, double> phases;
    for (const auto& [phase, seconds] : outcome.summary.phase_seconds) phases[phase.english] = seconds;
    for (const char* phase : {"fwd", "bwd", "step"}) {
      const double milliseconds = phases[phase] * 1000;
      EXPECT_GT(milliseconds, 5) << phase;
      EXPECT_NEAR(milliseconds, std::round(milliseconds), 1e-3) << phase;
    }
    forwards += phases["fwd"];
    backwards += phases["bwd"];
  }
  // Summed over both ranks: a phase also contains the work of the device's other streams, which run in random order.
  EXPECT_GT(backwards, forwards);
}

TEST_F(DeviceRuns, GoOnFromACheckpoint) {
  const Rows whole = on_devices("whole", "bf16"), late = on_late_devices("late", "bf16");
  stop_requested_ = [] { return true; };
  ASSERT_EQ(on_devices("parts", "bf16").size(), 1u);
  ASSERT_EQ(on_late_devices("late parts", "bf16").size(), 1u);
  stop_requested_ = {};
  expect_equal_rows(on_devices("parts", "bf16"), whole, "parts");
  expect_equal_rows(on_late_devices("late parts", "bf16"), late, "late parts");
}

}  // namespace
}  // namespace troika::train
