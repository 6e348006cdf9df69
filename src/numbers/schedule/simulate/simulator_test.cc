#include "schedule/simulate/simulator.h"

#include <gmock/gmock.h>

#include "schedule/shape_test_support.h"
#include "schedule/simulate/table_costs_test_support.h"
#include "schedule/trace/summary.h"

namespace troika::schedule {
namespace {

using ::testing::DoubleNear;

const Event& event_of(const StepTrace& trace, std::size_t rank, const std::string& text, Event::Activity activity) {
  for (const auto& event : trace.ranks[rank].events) {
    if (to_text(event.instruction) == text && event.activity == activity) return event;
  }
  throw base::BugError("no event " + text);
}

using Activity = Event::Activity;

void expect_span(const Event& event, double begin, double end) {
  EXPECT_THAT(event.begin_seconds, DoubleNear(begin, 1e-12)) << to_text(event.instruction);
  EXPECT_THAT(event.end_seconds, DoubleNear(end, 1e-12)) << to_text(event.instruction);
}

Program two_stages(std::int64_t boundary_bytes, int microbatches = 2) {
  StepShape shape = shape_of(2, 1, microbatches);
  shape.boundary_bytes = boundary_bytes;
  return build("gpipe", shape);
}

TEST(Simulator, MessageTakesBandwidthAndLatency) {
  const StepTrace trace = simulate(two_stages(50), table_costs({{{Kind::fwd, -1}, 1.0}}, {0.25, 100}));
  // fwd 0.0 ends at 1; 50 bytes at 100 B/s and 0.25 s of latency.
  expect_span(event_of(trace, 0, "send_act 0.0", Activity::transfer), 1.0, 1.75);
  expect_span(event_of(trace, 1, "recv_act 0.1", Activity::transfer), 0, 1.75);
  expect_span(event_of(trace, 1, "fwd 0.1", Activity::wait), 0, 1.75);
  expect_span(event_of(trace, 1, "fwd 0.1", Activity::compute), 1.75, 2.75);
}

TEST(Simulator, GivesUpExactlyWhereTheStepTakesLonger) {
  const Program program = two_stages(50);
  const auto costs = table_costs({{{Kind::fwd, -1}, 1.0}, {{Kind::bwd, -1}, 2.0}}, {0.25, 100});
  double end = 0;
  for (const auto& rank : simulate(program, costs).ranks) {
    for (const Event& event : rank.events) end = std::max(end, event.end_seconds);
  }
  for (const double most : {end, end + 1}) EXPECT_TRUE(simulate_within(program, costs, most)) << most;
  for (const double most : {0.0, end / 2, end - 1e-9}) EXPECT_FALSE(simulate_within(program, costs, most)) << most;
}

TEST(Simulator, OutgoingMessagesOfARankSerialise) {
  const auto costs = table_costs({{{Kind::fwd, 0}, 1.0}}, {0, 10});  // a message occupies the link for 5 s
  const StepTrace trace = simulate(two_stages(50), costs);
  expect_span(event_of(trace, 0, "send_act 0.0", Activity::transfer), 1, 6);
  expect_span(event_of(trace, 0, "send_act 1.0", Activity::transfer), 2, 11);
}

TEST(Simulator, LinksAreFullDuplex) {
  Program program = parse_program(
      "pp 2 dp 1 replicas 1 zero 0 microbatches 2 stages 0,1 segments 0,1,2\n"
      "load 0 | fwd 0.0 | send_act 0.0 | recv_grad 0.0 | load 1 | fwd 1.0 | send_act 1.0 | recv_grad 1.0 | bwd 0.0 | "
      "bwd 1.0 | reduce_grads *.0 | norm | step *.0\n"
      "recv_act 0.1 | recv_act 1.1 | load 0 | fwd 0.1 | bwd 0.1 | send_grad 0.1 | load 1 | fwd 1.1 | bwd 1.1 | "
      "send_grad 1.1 | reduce_grads *.1 | norm | step *.1\n");
  for (auto& rank : program.ranks) {
    for (auto& i : rank) i.bytes = is_communication(i.kind) && i.microbatch >= 0 ? 50 : 0;
  }
  const StepTrace trace = simulate(program, table_costs({}, {0, 10}));
  // send_act 1.0 and send_grad 0.1 both run from 5 to 10.
  EXPECT_THAT(event_of(trace, 0, "send_act 1.0", Activity::transfer).end_seconds, DoubleNear(10, 1e-12));
  EXPECT_THAT(event_of(trace, 1, "send_grad 0.1", Activity::transfer).end_seconds, DoubleNear(10, 1e-12));
}

TEST(Simulator, SendCompletesOnlyWhenThePeerHasPosted) {
  const Program program = parse_program(
      "pp 2 dp 1 replicas 1 zero 0 microbatches 1 stages 0,1 segments 0,1,2\n"
      "load 0 | fwd 0.0 | send_act 0.0 | recv_grad 0.0 | bwd 0.0 | reduce_grads *.0 | norm | step *.0\n"
      "load 0 | recv_act 0.1 | fwd 0.1 | bwd 0.1 | send_grad 0.1 | reduce_grads *.1 | norm | step *.1\n");
  const StepTrace trace = simulate(program, table_costs({{{Kind::fwd, -1}, 1.0}, {{Kind::load, -1}, 3.0}}, {}));
  EXPECT_THAT(event_of(trace, 0, "send_act 0.0", Activity::transfer).end_seconds, DoubleNear(4, 1e-12));
  Program late = program;  // the simulator itself asks only who waits for whom
  late.ranks[1].insert(late.ranks[1].begin(), {Kind::load, 0, -1, -1, 0});
  const StepTrace later = simulate(late, table_costs({{{Kind::load, -1}, 3.0}}, {}));
  EXPECT_THAT(event_of(later, 0, "send_act 0.0", Activity::transfer).end_seconds, DoubleNear(6, 1e-12));
}

// Two replicas, backwards of 1 s and 2 s per segment, 100 bytes in every exchange of a segment.
StepShape replicas(int zero) {
  StepShape shape = shape_of(1, 2, 2, 2);
  shape.zero = zero;
  shape.segments = {{100, 100, 100}, {100, 100, 100}};
  return shape;
}

CostModel replica_costs(double bytes_per_second) {
  CostModel costs = table_costs({}, {0.1, bytes_per_second});
  costs.seconds = [](int, const Instruction& i) { return i.kind == Kind::bwd ? 1.0 + i.microbatch : 0; };
  return costs;
}

TEST(Simulator, ReductionsRunBesideTheBackwardsThatFollow) {
  const StepTrace trace = simulate(build("1f1b", replicas(1)), replica_costs(100));
  // Rank 1 comes to its first reduction at 2, to its second at 4; latency 0.1 and 1 s for the bytes.
  expect_span(event_of(trace, 0, "reduce_grads *.0.1", Activity::transfer), 1, 3.1);
  expect_span(event_of(trace, 1, "reduce_grads *.0.1", Activity::transfer), 2, 3.1);
  expect_span(event_of(trace, 1, "bwd 1.0.0", Activity::compute), 2, 4);
  expect_span(event_of(trace, 1, "reduce_grads *.0.0", Activity::transfer), 4, 5.1);
  // norm waits for the reduction, then for two rounds of latency with rank 0.
  expect_span(event_of(trace, 1, "norm", Activity::wait), 4, 5.3);
}

TEST(Simulator, ABackwardWaitsBetweenItsHalvesForTheReductionsOfMicrobatches) {
  const StepTrace trace = simulate(build("1f1b", replicas(2)), replica_costs(100));
  expect_span(event_of(trace, 0, "reduce_grads 0.0.1", Activity::transfer), 1, 3.1);
  // Rank 0 comes to its second backward at 1, rank 1 at 2, and the first leaf is on its way until 3.1.
  expect_span(event_of(trace, 0, "bwd 0.0.0", Activity::wait), 1.5, 3.1);
  expect_span(event_of(trace, 1, "bwd 1.0.0", Activity::wait), 3, 3.1);
  expect_span(event_of(trace, 0, "reduce_grads 0.0.0", Activity::transfer), 3.6, 5.2);
  EXPECT_EQ(communication_intervals(trace)[0].front().begin, 1.5);
  EXPECT_EQ(communication_intervals(trace)[0].front().end, 3.1);
}

TEST(Simulator, ExchangesOfARankShareItsLinkOneAfterTheOther) {
  const StepTrace trace = simulate(build("1f1b", replicas(0)), replica_costs(10));  // 10.1 s each
  EXPECT_THAT(event_of(trace, 0, "reduce_grads *.0.1", Activity::transfer).end_seconds, DoubleNear(12.1, 1e-9));
  EXPECT_THAT(event_of(trace, 0, "reduce_grads *.0.0", Activity::transfer).end_seconds, DoubleNear(22.2, 1e-9));
  expect_span(event_of(trace, 0, "reduce_grads *.0.0", Activity::wait), 2, 12.1);
  EXPECT_THAT(event_of(trace, 0, "gather_grads *.0.1", Activity::transfer).end_seconds, DoubleNear(32.3, 1e-9));
  EXPECT_THAT(event_of(trace, 0, "gather_grads *.0.0", Activity::transfer).end_seconds, DoubleNear(42.4, 1e-9));
}

TEST(Simulator, MessagesAndExchangesOfARankShareItsLink) {
  StepShape shape = shape_of(2, 2, 2);
  shape.boundary_bytes = 50;
  shape.segments = {{70, 0, 0}, {70, 0, 0}};
  shape.zero = 1;
  const StepTrace trace = simulate(build("1f1b", shape), table_costs({}, {0, 10}));
  // Rank 2 receives at 5, sends its gradient until 10, then reduces until 17.
  EXPECT_THAT(event_of(trace, 2, "send_grad 0.1", Activity::transfer).end_seconds, DoubleNear(10, 1e-12));
  EXPECT_THAT(event_of(trace, 2, "reduce_grads *.1.1", Activity::transfer).end_seconds, DoubleNear(17, 1e-12));
}

TEST(Simulator, TheEndOfARankWaitsForWhatItStarted) {
  const StepTrace trace = simulate(build("1f1b", replicas(1)), replica_costs(100));
  expect_span(event_of(trace, 0, "gather_params *.0.1", Activity::wait), 5.3, 5.3 + 2 * 1.1);
  EXPECT_EQ(trace.ranks[0].events.back().activity, Activity::wait);
}

TEST(Simulator, ReplicasOfOneRankExchangeOverItsOwnLink) {
  StepShape shape = shape_of(1, 1, 1);
  shape.replicas = 3;
  shape.zero = 1;
  shape.segments = {{40, 0, 60}};
  CostModel costs;
  costs.link = [](int from, int to) { return Link{from == 0 && to == 0 ? 0.5 : 100, 20}; };
  const StepTrace trace = simulate(build("1f1b", shape), costs);
  expect_span(event_of(trace, 0, "reduce_grads *.0.0", Activity::transfer), 0, 2 * 0.5 + 2);
  expect_span(event_of(trace, 0, "gather_params *.0.0", Activity::transfer), 3, 3 + 2 * 0.5 + 3);
}

TEST(Simulator, ExchangeTimesCanBeGiven) {
  CostModel costs;
  costs.exchange_seconds = [](const Instruction& i, const std::vector<int>& ranks) {
    return i.kind == Kind::norm ? 10.0 * static_cast<double>(ranks.size()) : 0;
  };
  const StepTrace trace = simulate(build("1f1b", shape_of(1, 3, 3)), costs);
  EXPECT_THAT(event_of(trace, 2, "norm", Activity::compute).end_seconds, DoubleNear(30, 1e-12));
}

TEST(Simulator, GathersRunBesideComputing) {
  StepShape shape = shape_of(1, 2, 2, 3);
  shape.zero = 3;
  CostModel costs = table_costs({{{Kind::fwd, -1}, 1.0}}, {});
  costs.exchange_seconds = [](const Instruction& i, const std::vector<int>&) {
    return i.kind == Kind::gather_params ? 1.5 : 0;
  };
  const StepTrace trace = simulate(build("1f1b", shape), costs);
  expect_span(event_of(trace, 0, "fwd 0.0.0", Activity::compute), 1.5, 2.5);
  expect_span(event_of(trace, 0, "fwd 0.0.1", Activity::compute), 3,
              4);  // its gather from 1.5 to 3, half of it meanwhile
  expect_span(event_of(trace, 0, "fwd 0.0.2", Activity::compute), 4.5, 5.5);
}

TEST(Simulator, StateIsFetchedWhileAnotherSegmentSteps) {
  StepShape shape = shape_of(1, 1, 1, 3);
  shape.offload = config::Offload::host;
  const StepTrace trace =
      simulate(build("1f1b", shape),
               table_costs({{{Kind::step, -1}, 1.0}, {{Kind::fetch, -1}, 1.0}, {{Kind::offload, -1}, 0.5}}, {}));
  expect_span(event_of(trace, 0, "fetch *.0.0", Activity::transfer), 0, 1);
  expect_span(event_of(trace, 0, "step *.0.0", Activity::compute), 1, 2);
  expect_span(event_of(trace, 0, "fetch *.0.1", Activity::transfer), 0, 2);
  expect_span(event_of(trace, 0, "step *.0.1", Activity::compute), 2, 3);
  expect_span(event_of(trace, 0, "offload *.0.0", Activity::transfer), 2, 2.5);  // one copy after another
  expect_span(event_of(trace, 0, "step *.0.2", Activity::compute), 3.5, 4.5);
  EXPECT_THAT(trace.ranks[0].events.back().end_seconds, DoubleNear(5, 1e-12));
}

TEST(Simulator, EventsOfARankAreInOrderOfTime) {
  const StepTrace trace =
      simulate(two_stages(50, 6), table_costs({{{Kind::fwd, -1}, 1.0}, {{Kind::bwd, -1}, 2.0}}, {0.1, 70}));
  for (const auto& rank : trace.ranks) {
    for (std::size_t i = 1; i < rank.events.size(); ++i)
      EXPECT_LE(rank.events[i - 1].begin_seconds, rank.events[i].begin_seconds);
  }
}

TEST(Simulator, RefusesADeadlock) {
  const Program program = parse_program(
      "pp 2 dp 1 replicas 1 zero 0 microbatches 1 stages 0,1 segments 0,1,2\n"
      "load 0 | recv_grad 0.0 | fwd 0.0 | bwd 0.0 | send_act 0.0 | reduce_grads *.0 | norm | step *.0\n"
      "recv_act 0.1 | load 0 | fwd 0.1 | bwd 0.1 | send_grad 0.1 | reduce_grads *.1 | norm | step *.1\n");
  EXPECT_THROW(simulate(program, CostModel{}), base::BugError);
}

// Equal stages, forward, input half and weight half 1 s each, four ranks, eight microbatches: 24 s of work per rank. An
// interleaved rank has twice the stages, of half the time.
TEST(Simulator, InterleavedAndZeroBubbleIdleLessThan1F1B) {
  const auto bubble = [](const std::string& schedule) {
    const int stages = stages_per_rank(schedule);
    const double unit = 1.0 / stages;
    const CostModel costs = table_costs({{{Kind::fwd, -1}, unit},
                                         {{Kind::bwd, -1}, 2 * unit},
                                         {{Kind::bwd_input, -1}, unit},
                                         {{Kind::bwd_weight, -1}, unit}},
                                        {});
    return summarize(simulate(build(schedule, shape_of(4, 1, 8, 1, stages)), costs)).pipeline_bubble_share;
  };
  EXPECT_NEAR(bubble("gpipe"), 9.0 / 33, 1e-9);
  EXPECT_NEAR(bubble("1f1b"), 9.0 / 33, 1e-9);
  EXPECT_NEAR(bubble("interleaved"), 4.5 / 28.5, 1e-9);
  EXPECT_NEAR(bubble("zb-h1"), 3.0 / 27, 1e-9);
}

// The replicas of one stage, of which only the second takes time for its step.
TEST(Simulator, ARankThatHasEndedWaitsForItsTransfersFromThenOn) {
  StepShape shape = shape_of(1, 2, 2);
  shape.zero = 1;
  shape.overlap = Overlap::off;
  shape.segments = {{0, 0, 10}};
  CostModel costs = table_costs({}, {0, 10});
  costs.seconds = [](int rank, const Instruction& i) { return rank == 1 && i.kind == Kind::step ? 1.0 : 0.0; };
  const StepTrace trace = simulate(build("1f1b", shape), costs);
  const Event& last = trace.ranks[0].events.back();
  EXPECT_EQ(last.activity, Activity::wait);
  EXPECT_NEAR(last.begin_seconds, 0, 1e-9);
  EXPECT_NEAR(last.end_seconds, trace.ranks[1].events.back().end_seconds, 1e-9);
}

// Two ranks without messages between them.
Program two_pipelines() {
  StepShape shape = shape_of(1, 2, 4);
  return build("1f1b", shape);
}

double end_of(const StepTrace& trace, std::size_t rank) { return trace.ranks[rank].events.back().end_seconds; }

TEST(Simulator, RanksThatShareAProcessorTakeTwiceAsLongTogether) {
  CostModel costs = table_costs({{{Kind::fwd, -1}, 1.0}, {{Kind::bwd, -1}, 2.0}}, {});
  const double alone = end_of(simulate(two_pipelines(), costs), 0);
  costs.processors = {{0, 0}, {1}};
  EXPECT_NEAR(end_of(simulate(two_pipelines(), costs), 1), 2 * alone, 1e-9);
  costs.processors = {{0, 0}, {2}};
  EXPECT_NEAR(end_of(simulate(two_pipelines(), costs), 1), alone, 1e-9);
}

TEST(Simulator, AStageThatWaitsLeavesItsProcessorToTheOthers) {
  // The stages of a pipeline compute one after the other: a single microbatch takes as long on one processor as on two.
  StepShape shape = shape_of(2, 1, 1);
  CostModel costs = table_costs({{{Kind::fwd, -1}, 1.0}, {{Kind::bwd, -1}, 2.0}}, {});
  const double alone = end_of(simulate(build("1f1b", shape), costs), 0);
  costs.processors = {{0, 0}, {1}};
  EXPECT_NEAR(end_of(simulate(build("1f1b", shape), costs), 0), alone, 1e-9);
}

TEST(Simulator, AComputationThatComesWhileAnotherIsUnderWaySharesFromThenOn) {
  StepShape shape = shape_of(2, 1, 2);
  CostModel costs = table_costs({{{Kind::fwd, -1}, 1.0}, {{Kind::bwd, -1}, 1.0}}, {});
  costs.processors = {{0, 0}, {1}};
  const StepTrace trace = simulate(build("gpipe", shape), costs);
  expect_span(event_of(trace, 0, "fwd 0.0", Activity::compute), 0, 1);
  expect_span(event_of(trace, 0, "fwd 1.0", Activity::compute), 1, 3);  // beside fwd 0.1
  expect_span(event_of(trace, 1, "fwd 0.1", Activity::compute), 1, 3);
  expect_span(event_of(trace, 1, "fwd 1.1", Activity::compute), 3, 4);
}

}  // namespace
}  // namespace troika::schedule
