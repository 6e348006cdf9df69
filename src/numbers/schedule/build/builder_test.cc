#include "schedule/build/builder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "schedule/shape_test_support.h"

namespace troika::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::string& schedule, const StepShape& shape) {
  return refusal_of<base::ConfigError>([&] { build(schedule, shape); });
}

std::size_t index_of(const std::vector<Instruction>& rank, const std::string& text) {
  for (std::size_t i = 0; i < rank.size(); ++i) {
    if (to_text(rank[i]) == text) return i;
  }
  ADD_FAILURE() << text << " not found";
  return rank.size();
}

// The instructions of a rank from the first of a text on, of the given kinds (none: all).
std::string tail_from(const Program& program, std::size_t rank, const std::string& first) {
  std::string text;
  const auto& instructions = program.ranks[rank];
  for (std::size_t i = index_of(instructions, first); i < instructions.size(); ++i)
    text += (text.empty() ? "" : " | ") + to_text(instructions[i]);
  return text;
}

int count_of(const std::vector<Instruction>& rank, Kind kind) {
  return static_cast<int>(std::count_if(rank.begin(), rank.end(), [&](const auto& i) { return i.kind == kind; }));
}

TEST(Builder, OneProcessIsAShortProgram) {
  const Program program = build("1f1b", shape_of(1, 1, 2, 3));
  EXPECT_EQ(to_text(program),
            "pp 1 dp 1 replicas 1 zero 0 microbatches 2 stages 0 segments 0,3\n"
            "load 0 | fwd 0.0 | bwd 0.0 | load 1 | fwd 1.0 | bwd 1.0 | reduce_grads *.0 | norm | step *.0\n");
}

TEST(Builder, ZeroAndOverlapChangeNothingForOneReplica) {
  const StepShape plain = shape_of(2, 1, 4, 3);
  for (int zero = 0; zero <= 3; ++zero) {
    for (const Overlap overlap : {Overlap::on, Overlap::off}) {
      StepShape shape = plain;
      shape.zero = zero;
      shape.overlap = overlap;
      EXPECT_EQ(build("1f1b", shape).ranks, build("1f1b", plain).ranks) << zero;
    }
  }
}

TEST(Builder, ReplicasOfContextParallelismCountAsReplicas) {
  StepShape shape = shape_of(1, 1, 1, 2);
  shape.replicas = 2;
  EXPECT_EQ(tail_from(build("1f1b", shape), 0, "load 0"),
            "load 0 | fwd 0.0 | bwd 0.0.1 | reduce_grads *.0.1 | bwd 0.0.0 | reduce_grads *.0.0 | gather_grads *.0.1 | "
            "gather_grads *.0.0 | norm | step *.0");
}

TEST(Builder, SharesAreContiguous) {
  for (int zero = 0; zero <= 3; ++zero) {
    StepShape shape = shape_of(1, 3, 6);
    shape.zero = zero;
    const Program program = build("gpipe", shape);
    for (int d = 0; d < 3; ++d) {
      std::vector<int> seen;
      for (const auto& i : program.ranks[static_cast<std::size_t>(d)]) {
        if (i.kind == Kind::fwd) seen.push_back(i.microbatch);
      }
      EXPECT_EQ(seen, program.microbatches_of(d));
      EXPECT_THAT(seen, ElementsAre(2 * d, 2 * d + 1));
    }
  }
}

TEST(Builder, WeightBackwardsAscendInEverySchedule) {
  for (const auto& schedule : schedule_names()) {
    for (const auto& rank : build(schedule, shape_of(3, 2, 14, 2, stages_per_rank(schedule))).ranks) {
      std::map<int, int> last;  // by stage
      for (const auto& i : rank) {
        if (i.kind != Kind::bwd && i.kind != Kind::bwd_weight) continue;
        EXPECT_GE(i.microbatch, last[i.stage]);
        last[i.stage] = i.microbatch;
      }
    }
  }
}

TEST(Builder, ReceivesArePostedBeforeTheComputationThatPrecedesTheirUse) {
  const auto program = build("1f1b", shape_of(3, 1, 6));
  const auto& rank = program.ranks[1];
  EXPECT_LT(index_of(rank, "recv_act 1.1"), index_of(rank, "fwd 0.1"));
  EXPECT_LT(index_of(rank, "recv_act 3.1"), index_of(rank, "fwd 2.1"));
  EXPECT_LT(index_of(rank, "recv_grad 0.1"), index_of(rank, "fwd 1.1"));
  EXPECT_LT(index_of(rank, "recv_grad 2.1"), index_of(rank, "bwd 1.1"));
}

TEST(Builder, AtMostTwoReceivesPerDirectionAreHeld) {
  for (const auto& schedule : schedule_names()) {
    for (const auto& rank : build(schedule, shape_of(4, 1, 9, 1, stages_per_rank(schedule))).ranks) {
      std::map<Kind, int> held;
      std::map<std::pair<Kind, int>, int> posted;  // by stage too
      for (const auto& i : rank) {
        if (i.kind == Kind::recv_act || i.kind == Kind::recv_grad) {
          EXPECT_LE(++held[i.kind], 2);
          ++posted[{i.kind, i.stage}];
        }
        const bool backward = i.kind == Kind::bwd || i.kind == Kind::bwd_input;
        if (i.kind != Kind::fwd && !backward) continue;
        const Kind received = backward ? Kind::recv_grad : Kind::recv_act;
        if (posted[{received, i.stage}] > 0) --held[received];
      }
    }
  }
}

TEST(Builder, OnlyFirstAndLastStageLoad) {
  const Program program = build("1f1b", shape_of(3, 1, 4));
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(count_of(program.ranks[rank], Kind::load), rank == 1 ? 0 : 4);
  const Program interleaved = build("interleaved", shape_of(3, 1, 4, 1, 2));
  for (std::size_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(count_of(interleaved.ranks[rank], Kind::load), rank == 1 ? 0 : 4);
}

TEST(Builder, TailReducesTiedEmbeddingOnFirstAndLastStageOnly) {
  StepShape shape = shape_of(3, 1, 3);
  shape.tied = true;
  const Program three = build("gpipe", shape);
  EXPECT_EQ(tail_from(three, 0, "reduce_grads *.0"), "reduce_grads *.0 | reduce_tied *.0 | norm | step *.0");
  EXPECT_EQ(tail_from(three, 1, "reduce_grads *.1"), "reduce_grads *.1 | norm | step *.1");
  EXPECT_EQ(tail_from(three, 2, "reduce_grads *.2"), "reduce_grads *.2 | reduce_tied *.2 | norm | step *.2");
  shape = shape_of(1, 1, 3);
  shape.tied = true;
  EXPECT_EQ(tail_from(build("gpipe", shape), 0, "reduce_grads *.0"), "reduce_grads *.0 | norm | step *.0");
}

TEST(Builder, TotalsOfTheTiedEmbeddingFollowReduceTied) {
  StepShape shape = shape_of(2, 2, 2, 2);
  shape.tied = true;
  EXPECT_EQ(tail_from(build("1f1b", shape), 2, "bwd 0.1.3"),
            "bwd 0.1.3 | bwd 0.1.2 | send_grad 0.1 | reduce_grads *.1.3 | reduce_grads *.1.2 | reduce_tied *.1 | "
            "gather_grads *.1.3 | gather_grads *.1.2 | norm | step *.1");
  shape.overlap = Overlap::off;
  EXPECT_EQ(tail_from(build("1f1b", shape), 0, "bwd 0.0"),
            "bwd 0.0 | reduce_grads *.0 | reduce_tied *.0 | gather_grads *.0 | norm | step *.0");
}

TEST(Builder, OnlyTheLastMicrobatchOfAShareGoesBySegmentForOverlap) {
  const Program program = build("1f1b", shape_of(1, 2, 6, 3));
  EXPECT_EQ(count_of(program.ranks[0], Kind::bwd), 2 + 3);
  EXPECT_EQ(count_of(program.ranks[0], Kind::fwd), 3);
  StepShape two = shape_of(1, 2, 6, 3);
  two.zero = 2;
  EXPECT_EQ(count_of(build("1f1b", two).ranks[0], Kind::bwd), 9);
  EXPECT_EQ(count_of(build("1f1b", two).ranks[0], Kind::reduce_grads), 9);
  EXPECT_EQ(count_of(build("1f1b", two).ranks[0], Kind::fwd), 3);
}

TEST(Builder, ReductionsLetTheGradientForTheStageBeforeGoFirst) {
  StepShape shape = shape_of(2, 2, 4, 2);
  EXPECT_EQ(tail_from(build("1f1b", shape), 2, "bwd 1.1.3"),
            "bwd 1.1.3 | bwd 1.1.2 | send_grad 1.1 | reduce_grads *.1.3 | reduce_grads *.1.2 | gather_grads *.1.3 | "
            "gather_grads *.1.2 | norm | step *.1");
  EXPECT_EQ(
      tail_from(build("1f1b", shape), 0, "bwd 1.0.1"),
      "bwd 1.0.1 | reduce_grads *.0.1 | bwd 1.0.0 | reduce_grads *.0.0 | gather_grads *.0.1 | gather_grads *.0.0 | "
      "norm | step *.0");
  shape.recompute = config::Recompute::full;
  EXPECT_EQ(
      tail_from(build("gpipe", shape), 2, "refwd 1.1.3"),
      "refwd 1.1.3 | bwd 1.1.3 | refwd 1.1.2 | bwd 1.1.2 | send_grad 1.1 | reduce_grads *.1.3 | reduce_grads *.1.2 | "
      "gather_grads *.1.3 | gather_grads *.1.2 | norm | step *.1");
}

TEST(Builder, SplitBackwardReducesBehindItsWeightHalf) {
  StepShape shape = shape_of(2, 2, 4, 2);
  shape.zero = 2;
  EXPECT_EQ(tail_from(build("zb-h1", shape), 2, "bwd_weight 1.1.3"),
            "bwd_weight 1.1.3 | reduce_grads 1.1.3 | bwd_weight 1.1.2 | reduce_grads 1.1.2 | norm | step *.1.2 | "
            "gather_params *.1.2 | step *.1.3 | gather_params *.1.3");
}

TEST(Builder, Zero3GathersOneSegmentAheadAndFreesBehindTheLastUse) {
  StepShape shape = shape_of(1, 2, 2, 4);
  shape.zero = 3;
  EXPECT_EQ(
      tail_from(build("1f1b", shape), 1, "gather_params *.0.0"),
      "gather_params *.0.0 | gather_params *.0.1 | load 1 | fwd 1.0.0 | free_params *.0.0 | gather_params *.0.2 | "
      "fwd 1.0.1 | free_params *.0.1 | gather_params *.0.3 | fwd 1.0.2 | fwd 1.0.3 | bwd 1.0.3 | free_params "
      "*.0.3 | reduce_grads 1.0.3 | gather_params *.0.1 | bwd 1.0.2 | free_params *.0.2 | reduce_grads 1.0.2 | "
      "gather_params *.0.0 | bwd 1.0.1 | free_params *.0.1 | reduce_grads 1.0.1 | bwd 1.0.0 | free_params *.0.0 | "
      "reduce_grads 1.0.0 | norm | step *.0");
  shape.overlap = Overlap::off;
  EXPECT_EQ(
      tail_from(build("1f1b", shape), 1, "fwd 1.0.2"),
      "fwd 1.0.2 | free_params *.0.2 | gather_params *.0.3 | fwd 1.0.3 | bwd 1.0.3 | free_params *.0.3 | "
      "reduce_grads 1.0.3 | gather_params *.0.2 | bwd 1.0.2 | free_params *.0.2 | reduce_grads 1.0.2 | "
      "gather_params *.0.1 | bwd 1.0.1 | free_params *.0.1 | reduce_grads 1.0.1 | gather_params *.0.0 | bwd 1.0.0 "
      "| free_params *.0.0 | reduce_grads 1.0.0 | norm | step *.0");
}

TEST(Builder, RecomputationAndBackwardOfASegmentShareOneGather) {
  StepShape shape = shape_of(1, 2, 2, 3);
  shape.zero = 3;
  shape.recompute = config::Recompute::full;
  shape.overlap = Overlap::off;
  EXPECT_EQ(tail_from(build("1f1b", shape), 0, "fwd 0.0.2"),
            "fwd 0.0.2 | bwd 0.0.2 | free_params *.0.2 | reduce_grads 0.0.2 | gather_params *.0.1 | refwd 0.0.1 | bwd "
            "0.0.1 | free_params *.0.1 | reduce_grads 0.0.1 | gather_params *.0.0 | refwd 0.0.0 | bwd 0.0.0 | "
            "free_params *.0.0 | reduce_grads 0.0.0 | norm | step *.0");
}

TEST(Builder, RecomputationSparesTheSegmentWhoseBackwardFollowsDirectly) {
  StepShape shape = shape_of(2, 1, 2, 2);
  shape.recompute = config::Recompute::full;
  const Program program = build("1f1b", shape);
  EXPECT_EQ(count_of(program.ranks[0], Kind::refwd), 4);  // both segments: other forwards come between
  EXPECT_EQ(count_of(program.ranks[1], Kind::refwd), 2);
  EXPECT_EQ(tail_from(program, 1, "fwd 1.1.2"),
            "fwd 1.1.2 | fwd 1.1.3 | bwd 1.1.3 | refwd 1.1.2 | bwd 1.1.2 | send_grad 1.1 | reduce_grads *.1 | norm | "
            "step *.1");
}

TEST(Builder, BytesAreWhatThisRankSends) {
  const auto bytes = [](const Program& program, std::size_t rank, Kind kind) {
    std::int64_t sum = 0;
    for (const auto& i : program.ranks[rank]) sum += i.kind == kind ? i.bytes : 0;
    return sum;
  };
  StepShape shape = shape_of(2, 2, 8, 2);
  shape.tied = true;
  shape.boundary_bytes = 1000;
  shape.tied_bytes = 70;
  shape.segments = {{1, 10, 100}, {2, 20, 200}, {3, 30, 300}, {4, 40, 400}};
  const Program wide = build("1f1b", shape);
  EXPECT_EQ(bytes(wide, 0, Kind::send_act), 4 * 1000);
  EXPECT_EQ(bytes(wide, 2, Kind::recv_act), 4 * 1000);
  EXPECT_EQ(bytes(wide, 2, Kind::send_grad), 4 * 1000);
  EXPECT_EQ(bytes(wide, 0, Kind::reduce_grads), 1 + 2);
  EXPECT_EQ(bytes(wide, 2, Kind::reduce_grads), 3 + 4);
  EXPECT_EQ(bytes(wide, 2, Kind::gather_grads), 30 + 40);
  EXPECT_EQ(bytes(wide, 0, Kind::reduce_tied), 70);
  shape.zero = 2;
  EXPECT_EQ(bytes(build("1f1b", shape), 0, Kind::reduce_grads), 4 * (1 + 2));
  EXPECT_EQ(bytes(build("1f1b", shape), 0, Kind::gather_params), 100 + 200);
  StepShape alone = shape_of(1, 1, 8, 4);
  alone.tied = true;
  alone.tied_bytes = 70;
  alone.segments = shape.segments;
  EXPECT_EQ(bytes(build("1f1b", alone), 0, Kind::reduce_grads), 0);
  EXPECT_EQ(bytes(build("1f1b", alone), 0, Kind::reduce_tied), 0);
}

TEST(Builder, ImpossibleShapesAreRefusedWithWhatWorks) {
  EXPECT_THAT(refusal("gpipe", shape_of(1, 3, 8)),
              HasSubstr("8 microbatches cannot be split evenly over dp 3; the nearest that works is 9"));
  EXPECT_THAT(refusal("gpipe", shape_of(1, 3, 2)), HasSubstr("nearest that works is 3"));
  EXPECT_THAT(refusal("gpipe", shape_of(0, 1, 2)), HasSubstr("pp 0"));
  EXPECT_THAT(refusal("1f1b", shape_of(2, 1, 2, 1, 2)), HasSubstr("choose schedule interleaved or virtual_stages 1"));
  EXPECT_THAT(refusal("interleaved", shape_of(2, 1, 2)), HasSubstr("virtual_stages 2 or more, not 2 and 1"));
  EXPECT_THAT(refusal("interleaved", shape_of(1, 1, 2, 1, 2)), HasSubstr("needs pp 2 or more"));
  StepShape shape = shape_of(2, 1, 2);
  shape.segments.resize(3);
  EXPECT_THAT(refusal("gpipe", shape), HasSubstr("bytes are given for 3 segments, but the stages have 2"));
  shape = shape_of(2, 1, 2);
  shape.segment_begin = {0, 1};
  EXPECT_THAT(refusal("gpipe", shape), HasSubstr("2 stages need 3 segment boundaries, not 2"));
  shape = shape_of(2, 1, 2);
  shape.segment_begin = {0, 2, 2};
  EXPECT_THAT(refusal("gpipe", shape), HasSubstr("stage 1 has no segment"));
  shape = shape_of(1, 2, 2);
  shape.replicas = 3;
  EXPECT_THAT(refusal("gpipe", shape), HasSubstr("3 replicas are no multiple of dp 2"));
  shape.replicas = 2;
  shape.zero = 4;
  EXPECT_THAT(refusal("gpipe", shape), HasSubstr("zero must be from 0 to 3, not 4"));
}

}  // namespace
}  // namespace troika::schedule
