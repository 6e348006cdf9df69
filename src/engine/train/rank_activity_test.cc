#include "train/rank_activity.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "train/recorder.h"

namespace troika::train {
namespace {
using schedule::Instruction;
using schedule::Kind;

constexpr Instruction forward_pass{Kind::fwd, 3, 2, -1, 0}, backward_pass{Kind::bwd, 1, 2, -1, 0};

TEST(RankActivity, SayStepInstructionAndSinceWhen) {
  RankActivity where;
  EXPECT_EQ(where.place().step, -1);
  where.at(0, records::Activity::preparing_data);
  EXPECT_EQ(where.place().at, records::Activity::preparing_data);
  where.begins(41, forward_pass, base::monotonic_seconds() - 12);
  const records::Place place = where.place();
  EXPECT_EQ(place.step, 41);
  EXPECT_EQ(records::word_of(place.at), "fwd 3.2");
  EXPECT_GE(place.seconds, 12);
  EXPECT_LT(place.seconds, 13);
  EXPECT_EQ(place.usual_seconds, 0);
  EXPECT_EQ(place.waits_for, records::waits_for_nobody);
}

TEST(RankActivity, WhatIsUsualIsTheMedianOfThatKindOfInstruction) {
  RankActivity where;
  for (const double seconds : {0.2, 0.3, 90.0, 0.1, 0.2}) where.ended(forward_pass, seconds, seconds / 10);
  where.ended(backward_pass, 7, 0);
  const double now = base::monotonic_seconds();
  where.begins(1, forward_pass, now);
  EXPECT_FLOAT_EQ(static_cast<float>(where.place().usual_seconds), 0.2F);
  {
    const comm::WaitMark::Scope waiting(where.wait_mark().get(), 5);
    EXPECT_EQ(where.place().waits_for, 5);
    EXPECT_FLOAT_EQ(static_cast<float>(where.place().usual_seconds), 0.02F);
  }
  where.begins(1, backward_pass, now);
  EXPECT_EQ(where.place().usual_seconds, 0);  // once is not usual
}

TEST(RankActivity, OfWorkThatWasInterruptedByAWaitTheLastStretchCounts) {
  RankActivity where;
  where.begins(1, forward_pass, base::monotonic_seconds() - 100);
  EXPECT_GE(where.place().seconds, 100);
  { const comm::WaitMark::Scope waiting(where.wait_mark().get(), 1); }
  EXPECT_LT(where.place().seconds, 10);
}

TEST(RankActivity, WhoWaitsForItsDeviceMayWaitForOthers) {
  RankActivity where;
  where.begins(1, forward_pass, base::monotonic_seconds());
  where.awaits_device();
  EXPECT_EQ(where.place().waits_for, records::waits_for_others);
  where.ended(forward_pass, 1, 0);
  EXPECT_EQ(where.place().waits_for, records::waits_for_nobody);
}

TEST(RankActivity, PhasesBesideTheProgramHaveAUsualTimeToo) {
  RankActivity where;
  for (int save = 0; save < 3; ++save) {
    where.at(5, records::Activity::saving);
    where.begins(6, forward_pass, base::monotonic_seconds() + 2);
  }
  where.at(5, records::Activity::saving);
  EXPECT_NEAR(where.place().usual_seconds, 2, 0.5);
}

// The waits of the thread that writes a checkpoint count while the rank waits for that thread.
TEST(RankActivity, WhoWaitsForItsSaverWaitsForWhomThatOneWaits) {
  RankActivity where;
  where.begins(5, forward_pass, base::monotonic_seconds());
  std::thread([&] {
    const comm::WaitMark::Scope waiting(where.saver_mark().get(), 2);
    EXPECT_EQ(where.place().waits_for, records::waits_for_nobody);
    where.saves(5, records::Activity::finishing_save);
    EXPECT_EQ(where.place().waits_for, 2);
    EXPECT_EQ(where.place().at, records::Activity::finishing_save);
  }).join();
  EXPECT_EQ(where.place().waits_for, records::waits_for_nobody);
}

TEST(RankActivity, ArrivalsAreToldTwice) {
  RankActivity where;
  std::vector<std::int64_t> steps;
  where.on_arrival([&] { steps.push_back(where.place().step); });
  where.at(0, records::Activity::preparing_data);
  where.at(0, records::Activity::connecting);
  for (const std::int64_t step : {7, 7, 8}) where.begins(step, forward_pass, base::monotonic_seconds());
  EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 7}));
}

TEST(WaitMark, WhatOtherThreadsWaitForDoesNotCountAndTheOutermostDoes) {
  comm::WaitMark mark(comm::WaitMark::Of::this_thread);
  std::thread([&] {
    const comm::WaitMark::Scope elsewhere(&mark, 1);
    EXPECT_EQ(mark.read().peer, comm::WaitMark::nobody);
  }).join();
  const comm::WaitMark::Scope outer(&mark, 2);
  {
    const comm::WaitMark::Scope inner(&mark, 3);
    EXPECT_EQ(mark.read().peer, 2);
  }
  EXPECT_EQ(mark.read().peer, 2);
}

TEST(PaceMeter, IsTheMedianOfStepsOverHalfAMinute) {
  PaceMeter pace;
  double now = 100;
  for (int step = 0; step < 200; ++step, now += 0.5) {
    EXPECT_TRUE(now >= 130 || pace.seconds() == 0) << now;
    pace.step_begins(now, step == 0 ? 0 : step % 50 == 0 ? 9 : 0.2);
  }
  EXPECT_NEAR(pace.seconds(), 0.2, 1e-6);
}

TEST(Recorder, CountsWhatIsComputedAndNotWhatIsWaitedFor) {
  RankActivity where;
  where.planned(5, 2);
  Recorder training(Recorder::Of::training, &where), evaluation(Recorder::Of::evaluation, &where);
  const double begin = base::monotonic_seconds();
  for (int step = 1; step < 4; ++step) {
    training.begins(step, forward_pass);
    training.waited(forward_pass, begin + 1, begin + 3);
    training.ended(forward_pass, begin, begin + 3.5);
    evaluation.begins(step, forward_pass);
    evaluation.ended(forward_pass, begin, begin + 1.5);
  }
  training.begins(5, forward_pass);
  EXPECT_FLOAT_EQ(static_cast<float>(where.place().usual_seconds), 1.5F);
  EXPECT_EQ(where.pace().seconds, 0);
  EXPECT_EQ(where.pace().work, 5);
  EXPECT_EQ(where.pace().like, 2);
  EXPECT_NEAR(training.phase_seconds().computed[static_cast<std::size_t>(schedule::Kind::fwd)], 4.5, 1e-6);
}

TEST(RankActivity, ASaveBesideTrainingStandsSinceItsLastPieceOrItsLastWait) {
  RankActivity where;
  EXPECT_EQ(where.save().step, -1);
  where.begins(41, forward_pass, base::monotonic_seconds());
  where.save_begins(40, "run/checkpoints/step-00000040");
  const auto stand = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  stand();
  rendezvous::Save save = where.save();
  EXPECT_EQ(save.step, 40);
  EXPECT_EQ(save.folder, "run/checkpoints/step-00000040");
  EXPECT_GE(save.seconds, 0.05);
  EXPECT_FALSE(save.awaited);
  double moved = base::monotonic_seconds();
  where.save_moves();
  save = where.save();
  EXPECT_LE(save.seconds, base::monotonic_seconds() - moved);
  stand();
  {
    const comm::WaitMark::Scope waiting(where.saver_mark().get(), 2);
    EXPECT_EQ(where.save().step, -1);  // that rank's disk may be to blame, this one's is not
    moved = base::monotonic_seconds();
  }
  save = where.save();
  EXPECT_LE(save.seconds, base::monotonic_seconds() - moved);
  where.saves(41, records::Activity::finishing_save);
  EXPECT_TRUE(where.save().awaited);
  where.save_ended();
  EXPECT_EQ(where.save().step, -1);
}

}  // namespace
}  // namespace troika::train
