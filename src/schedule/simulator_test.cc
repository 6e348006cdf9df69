#include "schedule/simulator.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "schedule/builder.h"

namespace troika::schedule {
namespace {

using ::testing::DoubleNear;

const Event& event_of(const StepTrace& trace, std::size_t lane, const std::string& text, Event::Activity activity) {
  for (const auto& event : trace.lanes[lane].events) {
    if (to_text(event.instruction) == text && event.activity == activity) return event;
  }
  throw base::BugError("no event " + text);
}

constexpr auto compute = Event::Activity::compute;
constexpr auto wait = Event::Activity::wait;
constexpr auto transfer = Event::Activity::transfer;

Program two_stages(std::int64_t boundary_bytes, int microbatches = 2) {
  PipelineShape shape;
  shape.pp = 2;
  shape.microbatches = microbatches;
  shape.boundary_bytes = boundary_bytes;
  return build("gpipe", shape);
}

TEST(Simulator, MessageTakesBandwidthAndLatency) {
  const auto costs = table_costs({{{Kind::fwd, -1}, 1.0}}, {0.25, 100});
  const StepTrace trace = simulate(two_stages(50), costs);
  // fwd 0.0 ends at 1; 50 bytes at 100 B/s and 0.25 s of latency.
  EXPECT_THAT(event_of(trace, 0, "send_act 0.0", transfer).begin_seconds, DoubleNear(1.0, 1e-12));
  EXPECT_THAT(event_of(trace, 0, "send_act 0.0", transfer).end_seconds, DoubleNear(1.75, 1e-12));
  EXPECT_THAT(event_of(trace, 1, "recv_act 0.1", transfer).begin_seconds, DoubleNear(0, 1e-12));
  EXPECT_THAT(event_of(trace, 1, "fwd 0.1", wait).end_seconds, DoubleNear(1.75, 1e-12));
  EXPECT_THAT(event_of(trace, 1, "fwd 0.1", compute).begin_seconds, DoubleNear(1.75, 1e-12));
}

TEST(Simulator, OutgoingMessagesOfALaneSerialise) {
  const auto costs = table_costs({{{Kind::fwd, 0}, 1.0}}, {0, 10});  // a message occupies the link for 5 s
  const StepTrace trace = simulate(two_stages(50), costs);
  EXPECT_THAT(event_of(trace, 0, "send_act 0.0", transfer).end_seconds, DoubleNear(6, 1e-12));
  EXPECT_THAT(event_of(trace, 0, "send_act 1.0", transfer).end_seconds, DoubleNear(11, 1e-12));
}

TEST(Simulator, LinksAreFullDuplex) {
  const Program program = parse_program(
      "pp 2 dp 1 microbatches 2 stages 0,1\n"
      "load 0 | fwd 0.0 | send_act 0.0 | recv_grad 0.0 | load 1 | fwd 1.0 | send_act 1.0 | recv_grad 1.0 | bwd 0.0 | "
      "bwd 1.0 | "
      "reduce_grads *.0 | norm | step\n"
      "recv_act 0.1 | recv_act 1.1 | load 0 | fwd 0.1 | bwd 0.1 | send_grad 0.1 | load 1 | fwd 1.1 | bwd 1.1 | "
      "send_grad 1.1 | "
      "reduce_grads *.1 | norm | step\n");
  Program sized = program;
  for (auto& lane : sized.lanes) {
    for (auto& i : lane) i.bytes = is_communication(i.kind) && i.microbatch >= 0 ? 50 : 0;
  }
  const StepTrace trace = simulate(sized, table_costs({}, {0, 10}));
  // send_act 1.0 and send_grad 0.1 both run from 5 to 10.
  EXPECT_THAT(event_of(trace, 0, "send_act 1.0", transfer).end_seconds, DoubleNear(10, 1e-12));
  EXPECT_THAT(event_of(trace, 1, "send_grad 0.1", transfer).end_seconds, DoubleNear(10, 1e-12));
}

TEST(Simulator, SendCompletesOnlyWhenThePeerHasPosted) {
  const Program program = parse_program(
      "pp 2 dp 1 microbatches 1 stages 0,1\n"
      "load 0 | fwd 0.0 | send_act 0.0 | recv_grad 0.0 | bwd 0.0 | reduce_grads *.0 | norm | step\n"
      "load 0 | recv_act 0.1 | fwd 0.1 | bwd 0.1 | send_grad 0.1 | reduce_grads *.1 | norm | step\n");
  const StepTrace trace = simulate(program, table_costs({{{Kind::fwd, -1}, 1.0}, {{Kind::load, -1}, 3.0}}, {}));
  EXPECT_THAT(event_of(trace, 0, "send_act 0.0", transfer).end_seconds, DoubleNear(4, 1e-12));
  Program late = program;
  late.lanes[1].insert(late.lanes[1].begin(),
                       {Kind::load, 0, -1, -1, 0});  // the simulator itself asks only who waits for whom
  EXPECT_THAT(
      event_of(simulate(late, table_costs({{{Kind::load, -1}, 3.0}}, {})), 0, "send_act 0.0", transfer).end_seconds,
      DoubleNear(6, 1e-12));
}

TEST(Simulator, ReductionWaitsForItsSlowestLaneAndThenForTheRing) {
  PipelineShape shape;
  shape.dp = 2;
  shape.microbatches = 2;
  shape.gradient_bytes = {100};
  CostModel costs = table_costs({{{Kind::reduce_grads, -1}, 0.5}}, {0.1, 100});
  costs.seconds = [](const Instruction& i) {
    return i.kind == Kind::bwd ? 1.0 + i.microbatch : i.kind == Kind::reduce_grads ? 0.5 : 0;
  };
  const StepTrace trace = simulate(build("1f1b", shape), costs);
  const auto& waited = event_of(trace, 0, "reduce_grads *.0", wait);
  EXPECT_THAT(waited.begin_seconds, DoubleNear(1, 1e-12));
  EXPECT_THAT(waited.end_seconds, DoubleNear(2 + 2 * (0.1 + 0.5), 1e-12));
  EXPECT_THAT(event_of(trace, 0, "reduce_grads *.0", compute).end_seconds, DoubleNear(3.7, 1e-12));
}

TEST(Simulator, ExchangeTimesCanBeGiven) {
  PipelineShape shape;
  shape.dp = 3;
  shape.microbatches = 3;
  CostModel costs;
  costs.exchange_seconds = [](const Instruction& i, const std::vector<int>& lanes) {
    return i.kind == Kind::norm ? 10.0 * static_cast<double>(lanes.size()) : 0;
  };
  EXPECT_THAT(event_of(simulate(build("1f1b", shape), costs), 2, "norm", compute).end_seconds, DoubleNear(30, 1e-12));
}

TEST(Simulator, GathersAndCopiesRunBesideComputing) {
  const std::string lane =
      "gather_params *.0.1 | load {m} | gather_params *.0.2 | fwd {m}.0.1 | fwd {m}.0.2 | offload {m}.0 | fetch {m}.0 "
      "| bwd {m}.0.2 | "
      "bwd {m}.0.1 | free_params *.0.1 | free_params *.0.2 | reduce_grads *.0 | norm | step\n";
  std::string text = "pp 1 dp 2 microbatches 2 stages 0\n";
  for (const std::string m : {"0", "1"}) {
    std::string line = lane;
    for (std::size_t at; (at = line.find("{m}")) != std::string::npos;) line.replace(at, 3, m);
    text += line;
  }
  CostModel costs = table_costs({{{Kind::fwd, -1}, 1.0}, {{Kind::offload, -1}, 2.0}, {{Kind::fetch, -1}, 3.0}}, {});
  costs.exchange_seconds = [](const Instruction& i, const std::vector<int>&) {
    return i.kind == Kind::gather_params ? 1.5 : 0;
  };
  const StepTrace trace = simulate(parse_program(text), costs);
  EXPECT_THAT(event_of(trace, 0, "fwd 0.0.1", compute).begin_seconds, DoubleNear(1.5, 1e-12));
  EXPECT_THAT(event_of(trace, 0, "fwd 0.0.2", compute).begin_seconds,
              DoubleNear(2.5, 1e-12));  // its gather ran meanwhile
  EXPECT_THAT(event_of(trace, 0, "offload 0.0", transfer).end_seconds, DoubleNear(5.5, 1e-12));
  EXPECT_THAT(event_of(trace, 0, "bwd 0.0.2", compute).begin_seconds, DoubleNear(8.5, 1e-12));  // 2 s out, 3 s back
}

TEST(Simulator, EventsOfALaneAreInOrderOfTime) {
  const StepTrace trace =
      simulate(two_stages(50, 6), table_costs({{{Kind::fwd, -1}, 1.0}, {{Kind::bwd, -1}, 2.0}}, {0.1, 70}));
  for (const auto& lane : trace.lanes) {
    for (std::size_t i = 1; i < lane.events.size(); ++i)
      EXPECT_LE(lane.events[i - 1].begin_seconds, lane.events[i].begin_seconds);
  }
}

TEST(Simulator, RefusesADeadlock) {
  const Program program = parse_program(
      "pp 2 dp 1 microbatches 1 stages 0,1\n"
      "load 0 | recv_grad 0.0 | fwd 0.0 | bwd 0.0 | send_act 0.0 | reduce_grads *.0 | norm | step\n"
      "recv_act 0.1 | load 0 | fwd 0.1 | bwd 0.1 | send_grad 0.1 | reduce_grads *.1 | norm | step\n");
  EXPECT_THROW(simulate(program, CostModel{}), base::BugError);
}

}  // namespace
}  // namespace troika::schedule
