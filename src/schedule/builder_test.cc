#include "schedule/builder.h"

#include <gmock/gmock.h>

#include <map>

#include "base/error.h"

namespace troika::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PipelineShape shape_of(int pp, int dp, int microbatches, bool tied = false) {
  PipelineShape shape;
  shape.pp = pp;
  shape.dp = dp;
  shape.microbatches = microbatches;
  shape.tied = tied;
  shape.boundary_bytes = 1000;
  shape.gradient_bytes.assign(static_cast<std::size_t>(pp), 5000);
  shape.tied_bytes = 70;
  return shape;
}

std::string refusal(const std::string& schedule, const PipelineShape& shape) {
  try {
    build(schedule, shape);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

std::size_t index_of(const std::vector<Instruction>& lane, const Instruction& wanted) {
  for (std::size_t i = 0; i < lane.size(); ++i) {
    if (lane[i] == wanted) return i;
  }
  ADD_FAILURE() << to_text(wanted) << " not found";
  return lane.size();
}

TEST(Builder, OneProcessIsAShortProgram) {
  const Program program = build("1f1b", shape_of(1, 1, 2));
  EXPECT_EQ(to_text(program),
            "pp 1 dp 1 microbatches 2 stages 0\n"
            "load 0 | fwd 0.0 | bwd 0.0 | load 1 | fwd 1.0 | bwd 1.0 | reduce_grads *.0 | norm | step\n");
}

TEST(Builder, SharesAreContiguous) {
  const Program program = build("gpipe", shape_of(1, 3, 6));
  for (std::size_t d = 0; d < 3; ++d) {
    std::vector<int> seen;
    for (const auto& i : program.lanes[d]) {
      if (i.kind == Kind::fwd) seen.push_back(i.microbatch);
    }
    const int first = static_cast<int>(d) * 2;
    EXPECT_THAT(seen, ElementsAre(first, first + 1));
  }
}

TEST(Builder, BackwardsAscendInBothSchedules) {
  for (const auto& schedule : schedule_names()) {
    for (const auto& lane : build(schedule, shape_of(3, 2, 12)).lanes) {
      int last = -1;
      for (const auto& i : lane) {
        if (i.kind != Kind::bwd) continue;
        EXPECT_GT(i.microbatch, last);
        last = i.microbatch;
      }
    }
  }
}

TEST(Builder, ReceivesArePostedBeforeTheComputationThatPrecedesTheirUse) {
  const auto program = build("1f1b", shape_of(3, 1, 6));
  const auto& lane = program.lanes[1];
  EXPECT_LT(index_of(lane, {Kind::recv_act, 1, 1, -1, 0}), index_of(lane, {Kind::fwd, 0, 1, -1, 0}));
  EXPECT_LT(index_of(lane, {Kind::recv_act, 3, 1, -1, 0}), index_of(lane, {Kind::fwd, 2, 1, -1, 0}));
  EXPECT_LT(index_of(lane, {Kind::recv_grad, 0, 1, -1, 0}), index_of(lane, {Kind::fwd, 1, 1, -1, 0}));
  EXPECT_LT(index_of(lane, {Kind::recv_grad, 2, 1, -1, 0}), index_of(lane, {Kind::bwd, 1, 1, -1, 0}));
}

TEST(Builder, AtMostTwoReceivesPerDirectionAreHeld) {
  for (const auto& schedule : schedule_names()) {
    for (const auto& lane : build(schedule, shape_of(4, 1, 9)).lanes) {
      std::map<Kind, int> held;
      for (const auto& i : lane) {
        if (i.kind == Kind::recv_act || i.kind == Kind::recv_grad) {
          EXPECT_LE(++held[i.kind], 2);
        }
        if (i.kind == Kind::fwd) --held[Kind::recv_act];
        if (i.kind == Kind::bwd) --held[Kind::recv_grad];
      }
    }
  }
}

TEST(Builder, OnlyFirstAndLastStageLoad) {
  const Program program = build("1f1b", shape_of(3, 1, 4));
  for (std::size_t lane = 0; lane < 3; ++lane) {
    int loads = 0;
    for (const auto& i : program.lanes[lane]) loads += i.kind == Kind::load ? 1 : 0;
    EXPECT_EQ(loads, lane == 1 ? 0 : 4);
  }
}

TEST(Builder, TailReducesTiedEmbeddingOnFirstAndLastStageOnly) {
  const auto tail = [](const Program& program, std::size_t lane) {
    std::string text;
    const auto& instructions = program.lanes[lane];
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      if (instructions[i].kind >= Kind::reduce_grads) text += to_text(instructions[i]) + "; ";
    }
    return text;
  };
  const Program three = build("gpipe", shape_of(3, 1, 3, true));
  EXPECT_EQ(tail(three, 0), "reduce_grads *.0; reduce_tied *.0; norm; step; ");
  EXPECT_EQ(tail(three, 1), "reduce_grads *.1; norm; step; ");
  EXPECT_EQ(tail(three, 2), "reduce_grads *.2; reduce_tied *.2; norm; step; ");
  EXPECT_EQ(tail(build("gpipe", shape_of(1, 1, 3, true)), 0), "reduce_grads *.0; reduce_tied *.0; norm; step; ");
}

TEST(Builder, BytesAreWhatCrossesToOtherLanes) {
  const auto bytes = [](const Program& program, std::size_t lane, Kind kind) {
    std::int64_t sum = 0;
    for (const auto& i : program.lanes[lane]) sum += i.kind == kind ? i.bytes : 0;
    return sum;
  };
  const Program wide = build("1f1b", shape_of(2, 2, 8, true));
  EXPECT_EQ(bytes(wide, 0, Kind::send_act), 4 * 1000);
  EXPECT_EQ(bytes(wide, 2, Kind::recv_act), 4 * 1000);
  EXPECT_EQ(bytes(wide, 2, Kind::send_grad), 4 * 1000);
  EXPECT_EQ(bytes(wide, 0, Kind::reduce_grads), 5000);
  EXPECT_EQ(bytes(wide, 0, Kind::reduce_tied), 70);
  const Program alone = build("1f1b", shape_of(1, 1, 8, true));
  EXPECT_EQ(bytes(alone, 0, Kind::reduce_grads), 0);
  EXPECT_EQ(bytes(alone, 0, Kind::reduce_tied), 0);
}

TEST(Builder, UnknownScheduleNamesTheNearest) {
  EXPECT_THAT(refusal("1f1", shape_of(1, 1, 1)),
              HasSubstr("schedule '1f1' does not exist; choose from 1f1b, gpipe (nearest: 1f1b)"));
}

TEST(Builder, ImpossibleShapesAreRefusedWithWhatWorks) {
  EXPECT_THAT(refusal("gpipe", shape_of(1, 3, 8)),
              HasSubstr("8 microbatches cannot be shared evenly by dp 3; nearest that works is 9"));
  EXPECT_THAT(refusal("gpipe", shape_of(1, 3, 2)), HasSubstr("nearest that works is 3"));
  EXPECT_THAT(refusal("gpipe", shape_of(0, 1, 2)), HasSubstr("pp 0"));
  PipelineShape shape = shape_of(2, 1, 2);
  shape.gradient_bytes = {1, 2, 3};
  EXPECT_THAT(refusal("gpipe", shape), HasSubstr("3 stages, but pp is 2"));
}

}  // namespace
}  // namespace troika::schedule
