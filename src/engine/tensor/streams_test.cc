#include "tensor/streams.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "tensor/fake_streams_test_support.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::tensor {
namespace {

Tensor floats(double value) { return full({16}, value); }

bool is_poison(const Tensor& x) {
  return std::all_of(x.data<float>(), x.data<float>() + x.elements(), [](float value) { return std::isnan(value); });
}

TEST(HostStreams, DoEverythingAtOnce) {
  const auto streams = make_host_streams();
  const Lane lane = streams->new_lane();
  EXPECT_FALSE(lane == compute_lane || lane == in_lane || lane == streams->new_lane());
  const Tensor to = floats(0);
  streams->copy(lane, to, floats(3));
  EXPECT_TRUE(equal(to, floats(3)));
  const Event event = streams->record(lane);
  EXPECT_TRUE(event.passed());
  streams->wait(compute_lane, event);
  EXPECT_EQ(streams->handle(lane), nullptr);
}

TEST(HostStreams, TimedEventsHaveTheTimeAtWhichTheyWereRecorded) {
  const auto streams = make_host_streams();
  const double begin = base::monotonic_seconds();
  const Event first = streams->record(compute_lane, Timed::yes), second = streams->record(in_lane, Timed::yes);
  EXPECT_TRUE(first.passed());
  EXPECT_GE(streams->seconds_between(first, second), 0);
  EXPECT_LE(streams->seconds_between(first, second), base::monotonic_seconds() - begin);
}

TEST(Await, LooksAgainUntilTheEventHasPassedOrTheCheckThrows) {
  struct Third : Event::Body {
    int looks = 0;
    bool passed() override { return ++looks == 3; }
  };
  const auto third = std::make_shared<Third>();
  int checks = 0;
  await(Event(third), [&] { ++checks; });
  EXPECT_EQ(checks, 2);
  EXPECT_THROW(await(Event(std::make_shared<Third>()), [] { throw base::PeerError(base::verbatim("dead")); }), base::PeerError);
  await(Event(), [] { FAIL(); });
}

TEST(FakeStreams, CopiesAreDoneLateAndPoisonTheirTargetUntilThen) {
  const auto streams = make_fake_streams(make_fake_machine(1, 5));
  const Tensor from = floats(1), to = floats(2);
  streams->wait(in_lane, streams->record(compute_lane));
  streams->copy(in_lane, to, from);
  const Event copied = streams->record(in_lane);
  EXPECT_TRUE(is_poison(to));
  from.fill(4);  // too early: the compute lane has not waited
  streams->wait(compute_lane, copied);
  EXPECT_TRUE(equal(to, floats(4)));
  EXPECT_TRUE(copied.passed());
}

TEST(FakeStreams, PollingMovesTheDeviceOn) {
  const auto streams = make_fake_streams(make_fake_machine(1, 5));
  const Tensor from = floats(1), to = floats(2);
  streams->wait(in_lane, streams->record(compute_lane));
  streams->copy(in_lane, to, from);
  await(streams->record(in_lane), [] {});
  EXPECT_TRUE(equal(to, from));
}

TEST(FakeStreams, WorkThatDidNotWaitForTheComputeLaneMovesPoison) {
  const auto streams = make_fake_streams(make_fake_machine(1, 5));
  const Tensor from = floats(1), to = floats(2);
  const auto copied_after = [&](const Event& event) {
    streams->wait(in_lane, event);
    streams->copy(in_lane, to, from);
    streams->wait(compute_lane, streams->record(in_lane));
    return equal(to, from);
  };
  const Event first = streams->record(compute_lane);
  EXPECT_FALSE(copied_after(Event()));
  EXPECT_TRUE(copied_after(first));
  EXPECT_FALSE(copied_after(first));  // does not cover what was computed since
  EXPECT_TRUE(copied_after(streams->record(compute_lane)));
}

TEST(FakeStreams, LanesGoOnInDrawnOrdersUnlessAnEventOrdersThem) {
  int first_lane_first = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (const bool ordered : {false, true}) {
      const auto streams = make_fake_streams(make_fake_machine(seed, 5));
      const Lane one = streams->new_lane(), two = streams->new_lane();
      const Tensor target = floats(0), ones = floats(1), twos = floats(2);
      streams->wait(one, streams->record(compute_lane));
      streams->copy(one, target, ones);
      const Event first = streams->record(one);
      if (ordered) streams->wait(two, first);
      streams->wait(two, streams->record(compute_lane));
      streams->copy(two, target, twos);
      const Event second = streams->record(two);
      streams->wait(compute_lane, second);
      streams->wait(compute_lane, first);
      const bool in_order = equal(target, twos);
      if (ordered) {
        EXPECT_TRUE(in_order);
      } else {
        first_lane_first += in_order ? 1 : 0;
      }
    }
  }
  EXPECT_GT(first_lane_first, 5);
  EXPECT_LT(first_lane_first, 45);
}

TEST(FakeStreams, ALaneWhoseHeadIsNotReadyHoldsNothingElseAndEndsWithAnErrorAfterTheDeadline) {
  struct Never : FakeWork {
    bool try_to_do() override { return false; }
  };
  const auto streams = make_fake_streams(make_fake_machine(1, 0.2));
  const Lane stuck = streams->new_lane();
  static_cast<FakeLane*>(streams->handle(stuck))->push(std::make_unique<Never>());
  const Tensor from = floats(1), to = floats(2);
  streams->wait(in_lane, streams->record(compute_lane));
  streams->copy(in_lane, to, from);
  streams->wait(compute_lane, streams->record(in_lane));
  EXPECT_TRUE(equal(to, from));
  EXPECT_THROW(streams->wait(compute_lane, streams->record(stuck)), base::BugError);
  streams->while_standing([] { throw base::PeerError(base::verbatim("dead")); });
  EXPECT_THROW(streams->wait(compute_lane, streams->record(stuck)), base::PeerError);
}

TEST(ForgetfulStreams, LeaveOutTheWaitTheyWereTold) {
  const std::shared_ptr<Streams> device = make_fake_streams(make_fake_machine(1, 5));
  const auto streams = forgetful(device, ForgottenWait::of_another_lane, 1);
  const Tensor from = floats(1), to = floats(2);
  for (const bool done : {true, false, true}) {
    streams->wait(in_lane, streams->record(compute_lane));
    streams->copy(in_lane, to, from);
    streams->wait(compute_lane, streams->record(in_lane));
    EXPECT_EQ(equal(to, from), done);
  }
}

}  // namespace
}  // namespace troika::tensor
