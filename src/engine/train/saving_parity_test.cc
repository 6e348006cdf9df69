// Checkpoints that are written while training runs: what they hold, what they cost, and what remains when the run ends meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "comm/channel.h"
#include "plan/plan.h"
#include "tensor/fake_streams_test_support.h"
#include "train/layout_runs_test_support.h"
#include "train/saver.h"

namespace troika::train {
namespace {
using testing::HasSubstr;

class BesideTraining : public testing::TestWithParam<std::string> {
 protected:
  BesideTraining() {
    runs_.settings.train.steps = 5;
    runs_.settings.checkpoint.every = 2;
    runs_.settings.checkpoint.keep = 5;
  }

  std::vector<Outcome> train(const std::string& name, Saving::Way way, const Customise& more = {}) {
    config::Settings s = runs_.settings;
    s.train.out = runs_.folder(name);
    const int world = apply_layout(GetParam(), &s);
    base::make_directories(s.train.out);
    return train_on_threads(s, world, runs_.stream(), [&](Surroundings& surroundings, int rank) {
      surroundings.checkpoints->saving.way = way;
      if (more) more(surroundings, rank);
    });
  }

  std::map<std::string, std::string> files_of(const std::string& run, const std::string& step) const {
    std::map<std::string, std::string> texts;
    for (const char* kind : {"/model", "/state"}) {
      const std::string folder = runs_.folder(run) + "/checkpoints/" + step + kind;
      for (const std::string& name : base::list_directory(folder)) texts[name] = base::read_file(folder + "/" + name);
    }
    return texts;
  }

  LayoutRuns runs_;
};

TEST_P(BesideTraining, TheFilesHaveTheBytesOfThoseThatTrainingWaitedFor) {
  train("waited", Saving::Way::in_place);
  train("beside", Saving::Way::from_snapshot);
  for (const char* step : {"step-00000002", "step-00000004", "step-00000005"}) {
    const auto waited = files_of("waited", step);
    EXPECT_GE(waited.size(), 4U) << step;
    EXPECT_EQ(waited, files_of("beside", step)) << step;
  }
}

TEST_P(BesideTraining, TheMemoryIsThePlannedOne) {
  const auto outcomes = train("beside", Saving::Way::from_snapshot);
  config::Settings s = runs_.settings;
  s.train.out = runs_.folder("planned");
  const int world = apply_layout(GetParam(), &s);
  plan::Plan plan = plan_for(s, world, runs_.stream());
  for (int rank = 0; rank < world; ++rank) {
    std::int64_t held = 0;
    for (const auto& [use, bytes] : outcomes[static_cast<std::size_t>(rank)].summary.peak_bytes_by_use)
      if (use.english == "saving") held = bytes;
    EXPECT_EQ(held, plan::written_bytes(plan, mesh::coordinate_of(plan.shape, rank)).trained) << "rank " << rank;
  }
  plan::count_snapshots(&plan);
  std::int64_t most = 0, planned = 0;
  for (const Outcome& outcome : outcomes) most = std::max(most, outcome.summary.peak_memory_bytes);
  for (const plan::Memory& memory : plan.memory) planned = std::max(planned, memory.at_once + memory.snapshot);
  if (plan.shape.tp == 1) {
    EXPECT_EQ(most, planned);
  } else {  // the plan adds what the one that copies most copies to what the one that holds most holds
    EXPECT_LE(most, planned);
    EXPECT_GT(most, planned - 4096);
  }
}

TEST_P(BesideTraining, ARunThatFailsMeanwhileLeavesTheCheckpointBefore) {
  const std::string root = runs_.folder("beside") + "/checkpoints";
  EXPECT_THROW(train("beside", Saving::Way::from_snapshot,
                     [&](Surroundings& surroundings, int) {
                       surroundings.hooks.on_step = [](std::int64_t step, double) {
                         if (step == 5) throw base::PeerError(base::verbatim("the host is gone"));
                       };
                     }),
               base::PeerError);
  const auto self = comm::make_self_channel("test");
  const auto found = checkpoint::find_newest(root, *self);
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->facts.step, testing::AnyOf(2, 4));
}

// A device whose lane out does nothing until the compute lane waits for it, or a second has passed.
class HeldBack final : public tensor::Streams {
 public:
  explicit HeldBack(std::shared_ptr<tensor::Streams> inner) : inner_(std::move(inner)) {}
  const tensor::Device& device() const override { return inner_->device(); }
  bool shares_host_memory() const override { return false; }
  tensor::Lane new_lane() override { return inner_->new_lane(); }
  tensor::Event record(tensor::Lane lane, tensor::Timed timed) override { return inner_->record(lane, timed); }
  double seconds_between(const tensor::Event& begin, const tensor::Event& end) override {
    return inner_->seconds_between(begin, end);
  }
  void wait(tensor::Lane lane, const tensor::Event& event) override {
    if (lane == tensor::compute_lane) *held_until_ = 0;
    inner_->wait(lane, event);
  }
  void copy(tensor::Lane lane, const tensor::Tensor& to, const tensor::Tensor& from) override {
    if (lane == tensor::out_lane) {
      *held_until_ = base::monotonic_seconds() + 1;
      static_cast<tensor::FakeLane*>(inner_->handle(lane))->push(std::make_unique<Gate>(held_until_));
      ++held;
    }
    inner_->copy(lane, to, from);
  }
  tensor::Tensor new_host_tensor(const tensor::Sizes& sizes, tensor::Dtype dtype) override {
    return inner_->new_host_tensor(sizes, dtype);
  }
  void* handle(tensor::Lane lane) override { return inner_->handle(lane); }

  int held = 0;  // copies so far

 private:
  using Until = std::shared_ptr<std::atomic<double>>;
  class Gate final : public tensor::FakeWork {
   public:
    explicit Gate(Until until) : until_(std::move(until)) {}
    bool try_to_do() override { return base::monotonic_seconds() >= *until_; }

   private:
    const Until until_;
  };

  const std::shared_ptr<tensor::Streams> inner_;
  const Until held_until_ = std::make_shared<std::atomic<double>>(0);
};

class BesideTrainingOnADevice : public BesideTraining {};

TEST_P(BesideTrainingOnADevice, AnUpdateWaitsForWhatIsSaved) {
  const auto on_device = [](Surroundings& surroundings, int) {
    surroundings.streams = std::make_shared<HeldBack>(tensor::make_fake_streams(tensor::make_fake_machine(1, 60)));
  };
  train("waited", Saving::Way::in_place, on_device);
  std::shared_ptr<HeldBack> streams;
  train("beside", Saving::Way::from_snapshot, [&](Surroundings& surroundings, int rank) {
    on_device(surroundings, rank);
    streams = std::static_pointer_cast<HeldBack>(surroundings.streams);
  });
  EXPECT_GT(streams->held, 0);
  for (const char* step : {"step-00000002", "step-00000004"}) {
    const auto waited = files_of("waited", step);
    EXPECT_GE(waited.size(), 4U) << step;
    EXPECT_TRUE(waited == files_of("beside", step)) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Alone, BesideTrainingOnADevice, testing::Values("bf16"));

INSTANTIATE_TEST_SUITE_P(Layouts, BesideTraining,
                         testing::Values("", "dp 2", "pp 2 tp 2", "dp 2 pp 2 zero 3 bf16", "dp 3 zero 1"),
                         [](const auto& layout) {
                           std::string name = layout.param.empty() ? "alone" : layout.param;
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace troika::train
