#include "train/recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "tensor/streams.h"

namespace troika::train {
namespace {
using schedule::Event;
using schedule::Instruction;
using schedule::Kind;

// A device that takes as long as the test says for what it is asked for, by a clock of its own.
class MadeDevice final : public tensor::Streams {
 public:
  void work(double seconds) { busy_until_ = std::max(busy_until_, now()) + seconds; }
  bool stuck = false;

  const tensor::Device& device() const override { return device_; }
  bool shares_host_memory() const override { return false; }
  tensor::Lane new_lane() override { return tensor::Lane(3); }
  tensor::Event record(tensor::Lane lane, tensor::Timed timed) override {
    EXPECT_TRUE(lane == tensor::compute_lane && timed == tensor::Timed::yes);
    return tensor::Event(std::make_shared<At>(*this, std::max(busy_until_, now())));
  }
  double seconds_between(const tensor::Event& begin, const tensor::Event& end) override {
    EXPECT_TRUE(begin.passed() && end.passed());
    return static_cast<const At&>(*end.body()).seconds - static_cast<const At&>(*begin.body()).seconds;
  }
  void wait(tensor::Lane, const tensor::Event&) override {}
  void copy(tensor::Lane, const tensor::Tensor&, const tensor::Tensor&) override {}
  tensor::Tensor new_host_tensor(const tensor::Sizes&, tensor::Dtype) override { return {}; }
  void* handle(tensor::Lane) override { return nullptr; }

 private:
  struct At final : tensor::Event::Body {
    At(const MadeDevice& of, double when) : owner(of), seconds(when) {}
    bool passed() override { return !owner.stuck && now() >= seconds; }
    const MadeDevice& owner;
    const double seconds;
  };
  static double now() { return base::monotonic_seconds() + 5000; }

  const tensor::Device device_;
  double busy_until_ = 0;
};

const Instruction passed{Kind::fwd, 0, 1}, sent{Kind::send_act, 0, 1}, ending{Kind::norm}, update{Kind::step};

// Host and device are asked for their times at different moments; a host that is busy takes its time between them.
constexpr double near = 5e-3;

class RecorderOfADevice : public ::testing::Test {
 protected:
  // The host is done at once with what takes the device `seconds` behind `waits`; at a norm it waits for all of it.
  void takes(std::int64_t step, const Instruction& instruction, double waits, double seconds) {
    const double begin = base::monotonic_seconds();
    recorder_.begins(step, instruction);
    if (waits > 0) {
      recorder_.stands();
      device_.work(waits);
      recorder_.waited(instruction, begin, begin);
    }
    device_.work(seconds);
    if (instruction.kind == Kind::norm) {
      recorder_.transferred(sent, begin, begin);
      recorder_.awaits_device();
      tensor::await(device_.record(tensor::compute_lane, tensor::Timed::yes), [] {});
      recorder_.device_is_done();
    }
    recorder_.ended(instruction, begin, base::monotonic_seconds());
  }
  void step(std::int64_t number) {
    takes(number, passed, 0.02, 0.04);
    takes(number, sent, 0, 0);
    takes(number, ending, 0, 0.01);
    takes(number, update, 0, 0.03);
  }
  double phase(Kind kind) const { return recorder_.phase_seconds().computed[static_cast<std::size_t>(kind)]; }

  MadeDevice device_;
  RankActivity where_;
  Recorder recorder_{Recorder::Of::training, &where_, &device_};
};

TEST_F(RecorderOfADevice, SecondsAreThoseOfTheDeviceOnceTheStepHasWaitedForIt) {
  takes(1, passed, 0.02, 0.04);
  EXPECT_EQ(phase(Kind::fwd), 0);
  takes(1, ending, 0, 0.01);
  EXPECT_NEAR(phase(Kind::fwd), 0.04, near);
  EXPECT_NEAR(recorder_.phase_seconds().waited, 0.02, near);
  takes(1, update, 0, 0.03);
  EXPECT_EQ(phase(Kind::step), 0) << "known with the next step's norm";
  recorder_.await_device([] {});
  EXPECT_NEAR(phase(Kind::step), 0.03, near);
  EXPECT_NEAR(phase(Kind::norm), 0.01, near);
  const RankActivity::Totals totals = where_.totals();
  EXPECT_NEAR(totals.computed[static_cast<std::size_t>(Kind::fwd)], 0.04, near);
  EXPECT_NEAR(totals.waited[static_cast<std::size_t>(Kind::fwd)], 0.02, near);
}

TEST_F(RecorderOfADevice, WhatIsUsualForTheRanksThreadIsTheHosts) {
  for (std::int64_t number = 1; number < 5; ++number) step(number);
  recorder_.begins(5, passed);
  EXPECT_LT(where_.place().usual_seconds, near);
  recorder_.begins(5, ending);
  EXPECT_GT(where_.place().usual_seconds, 0.04) << "there it waits for the whole step";
}

TEST_F(RecorderOfADevice, EventsOfARecordedStepLieOnTheHostsClock) {
  step(1);
  recorder_.keep_events();
  step(2);
  recorder_.await_device([] {});
  const double now = base::monotonic_seconds();
  const std::vector<Event> events = recorder_.take_events();
  ASSERT_EQ(events.size(), 5U) << "of the recorded step alone";
  const auto is = [&](std::size_t i, const Instruction& instruction, Event::Activity activity, double begin, double end) {
    EXPECT_EQ(to_text(events[i].instruction), to_text(instruction)) << i;
    EXPECT_EQ(events[i].activity, activity) << i;
    EXPECT_NEAR(events[i].begin_seconds - now, begin, near) << i;
    EXPECT_NEAR(events[i].end_seconds - now, end, near) << i;
  };
  using Activity = Event::Activity;
  is(0, passed, Activity::wait, -0.10, -0.08);
  is(1, passed, Activity::compute, -0.08, -0.04);
  is(4, update, Activity::compute, -0.03, 0);
  const std::size_t norm = to_text(events[2].instruction) == to_text(ending) ? 2 : 3;
  is(norm, ending, Activity::compute, -0.04, -0.03);
  is(5 - norm, sent, Activity::transfer, -0.04, -0.03);
}

TEST_F(RecorderOfADevice, AWaitThatHasNoSenseEnds) {
  takes(1, passed, 0, 0.01);
  device_.stuck = true;
  EXPECT_THROW(recorder_.await_device([] { throw 1; }), int);
}

}  // namespace
}  // namespace troika::train
