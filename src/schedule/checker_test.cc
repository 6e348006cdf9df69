#include "schedule/checker.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "schedule/builder.h"

namespace troika::schedule {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const Program& program, const Bounds& limits = {}) {
  try {
    check(program, limits);
  } catch (const base::BugError& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal(const std::string& text, const Bounds& limits = {}) { return refusal(parse_program(text), limits); }

const std::string one = "pp 1 dp 1 microbatches 2 stages 0\n";
const std::string two = "pp 2 dp 1 microbatches 1 stages 0,1\n";
const std::string two_lane0 =
    "load 0 | fwd 0.0 | send_act 0.0 | recv_grad 0.0 | bwd 0.0 | reduce_grads *.0 | norm | step\n";
const std::string two_lane1 =
    "recv_act 0.1 | load 0 | fwd 0.1 | bwd 0.1 | send_grad 0.1 | reduce_grads *.1 | norm | step\n";

TEST(Checker, AcceptsTheSoundPrograms) {
  EXPECT_EQ(refusal(two + two_lane0 + two_lane1), "accepted");
  EXPECT_EQ(refusal(one + "load 0 | load 1 | fwd 0.0 | fwd 1.0 | bwd 0.0 | bwd 1.0 | reduce_grads *.0 | norm | step\n"),
            "accepted");
}

TEST(Checker, FindsDeadlockOfTwoLanesWaitingForEachOther) {
  const std::string text =
      "pp 2 dp 1 microbatches 1 stages 0,1\n"
      "load 0 | fwd 0.0 | recv_grad 0.0 | bwd 0.0 | send_act 0.0 | reduce_grads *.0 | norm | step\n" +
      two_lane1;
  EXPECT_THAT(refusal(text), AllOf(HasSubstr("deadlocked"), HasSubstr("lane 0 at instruction 3 'bwd 0.0'"),
                                   HasSubstr("lane 1 at instruction 2 'fwd 0.1'")));
}

TEST(Checker, FindsDeadlockOfReductionsInAnotherOrder) {
  const std::string body = "load {0} | fwd {0}.0 | fwd {0}.1 | bwd {0}.1 | bwd {0}.0 | ";
  const auto lane = [&](const std::string& m, const std::string& tail) {
    std::string text = body;
    for (std::size_t at; (at = text.find("{0}")) != std::string::npos;) text.replace(at, 3, m);
    return text + tail + "norm | step\n";
  };
  const std::string text = "pp 1 dp 2 microbatches 2 stages 0,0\n" +
                           lane("0", "reduce_grads *.0 | reduce_grads *.1 | ") +
                           lane("1", "reduce_grads *.1 | reduce_grads *.0 | ");
  EXPECT_THAT(refusal(text),
              HasSubstr("lane 0 at instruction 5 'reduce_grads *.0', lane 1 at instruction 5 'reduce_grads *.1'"));
}

TEST(Checker, RefusesAReductionBehindNorm) {
  const std::string text =
      "pp 2 dp 1 microbatches 1 stages 0,1\n"
      "load 0 | fwd 0.0 | send_act 0.0 | recv_grad 0.0 | bwd 0.0 | reduce_grads *.0 | norm | step\n"
      "load 0 | norm | recv_act 0.1 | fwd 0.1 | bwd 0.1 | send_grad 0.1 | reduce_grads *.1 | step\n";
  EXPECT_THAT(refusal(text), HasSubstr("lane 1, instruction 6 'reduce_grads *.1': comes after norm"));
}

struct Broken {
  const char* what;
  std::string text;
  const char* expected;
};

std::vector<Broken> broken_programs() {
  const std::string end = " | reduce_grads *.0 | norm | step\n";
  const std::string tail0 = " | bwd 0.0 | reduce_grads *.0 | norm | step\n";
  const std::string single = "pp 1 dp 1 microbatches 1 stages 0\n";
  return {
      {"send without receive",
       two + two_lane0 + "load 0 | fwd 0.1 | bwd 0.1 | send_grad 0.1 | reduce_grads *.1 | norm | step\n",
       "lane 1, instruction 1 'fwd 0.1': no recv_act"},
      {"receive without send", two + "load 0 | fwd 0.0 | recv_grad 0.0" + tail0 + two_lane1,
       "lane 1, instruction 0 'recv_act 0.1': no lane sends the matching message"},
      {"gradient sent to nobody", two + "load 0 | fwd 0.0 | send_act 0.0" + tail0 + two_lane1,
       "lane 0, instruction 3 'bwd 0.0': no recv_grad"},
      {"gradient never sent",
       two + two_lane0 + "recv_act 0.1 | load 0 | fwd 0.1 | bwd 0.1 | reduce_grads *.1 | norm | step\n",
       "lane 0, instruction 3 'recv_grad 0.0': no lane sends"},
      {"last stage sends forward",
       two + two_lane0 +
           "recv_act 0.1 | load 0 | fwd 0.1 | send_act 0.1 | bwd 0.1 | send_grad 0.1 | reduce_grads *.1 | norm | "
           "step\n",
       "lane 1, instruction 3 'send_act 0.1': there is no stage"},
      {"send before forward", two + "load 0 | send_act 0.0 | fwd 0.0 | recv_grad 0.0" + tail0 + two_lane1,
       "lane 0, instruction 1 'send_act 0.0': no forward"},
      {"send_grad before backward",
       two + two_lane0 + "recv_act 0.1 | load 0 | fwd 0.1 | send_grad 0.1 | bwd 0.1 | reduce_grads *.1 | norm | step\n",
       "lane 1, instruction 3 'send_grad 0.1': no complete backward"},
      {"receive twice",
       two + two_lane0 +
           "recv_act 0.1 | recv_act 0.1 | load 0 | fwd 0.1 | bwd 0.1 | send_grad 0.1 | reduce_grads *.1 | norm | "
           "step\n",
       "lane 1, instruction 1 'recv_act 0.1': stands twice"},
      {"send twice", two + "load 0 | fwd 0.0 | send_act 0.0 | send_act 0.0 | recv_grad 0.0" + tail0 + two_lane1,
       "lane 0, instruction 3 'send_act 0.0': stands twice"},
      {"forward without load", single + "fwd 0.0 | load 0" + tail0, "lane 0, instruction 0 'fwd 0.0': no load"},
      {"load twice", single + "load 0 | load 0 | fwd 0.0" + tail0, "instruction 1 'load 0': stands twice"},
      {"forward twice", single + "load 0 | fwd 0.0 | fwd 0.0" + tail0, "instruction 2 'fwd 0.0': stands twice"},
      {"backward twice", single + "load 0 | fwd 0.0 | bwd 0.0" + tail0, "instruction 3 'bwd 0.0': stands twice"},
      {"backward before forward", single + "load 0 | bwd 0.0 | fwd 0.0" + end, "instruction 1 'bwd 0.0': no forward"},
      {"forward missing", one + "load 0 | fwd 0.0 | bwd 0.0" + end,
       "instruction 3 'reduce_grads *.0': not all weight backwards"},
      {"backward missing", single + "load 0 | fwd 0.0 | norm | step\n", "lane 0: 'bwd 0.0' is missing"},
      {"weight half missing", single + "load 0 | fwd 0.0 | bwd_input 0.0 | norm | step\n",
       "lane 0: 'bwd_weight 0.0' is missing"},
      {"weight half before input half", single + "load 0 | fwd 0.0 | bwd_weight 0.0 | bwd_input 0.0" + end,
       "instruction 2 'bwd_weight 0.0': no bwd_input"},
      {"weight half after whole backward", single + "load 0 | fwd 0.0 | bwd 0.0 | bwd_weight 0.0" + end,
       "instruction 3 'bwd_weight 0.0': stands twice"},
      {"weights descend", one + "load 0 | load 1 | fwd 0.0 | fwd 1.0 | bwd 1.0 | bwd 0.0" + end,
       "instruction 5 'bwd 0.0': weight backwards of a stage must ascend"},
      {"reduce missing", single + "load 0 | fwd 0.0 | bwd 0.0 | norm | step\n",
       "lane 0: 'reduce_grads *.0' is missing"},
      {"norm missing", single + "load 0 | fwd 0.0 | bwd 0.0 | reduce_grads *.0 | step\n",
       "instruction 4 'step': comes before norm"},
      {"step missing", single + "load 0 | fwd 0.0 | bwd 0.0 | reduce_grads *.0 | norm\n", "lane 0: 'step' is missing"},
      {"something after step", single + "load 0 | fwd 0.0 | bwd 0.0 | reduce_grads *.0 | norm | step | norm\n",
       "instruction 6 'norm': nothing may follow step"},
      {"reduce too early",
       one + "load 0 | fwd 0.0 | bwd 0.0 | reduce_grads *.0 | load 1 | fwd 1.0 | bwd 1.0 | norm | step\n",
       "instruction 3 'reduce_grads *.0': not all weight backwards"},
      {"tied without reduce_tied", "pp 1 dp 1 microbatches 1 stages 0 tied\nload 0 | fwd 0.0" + tail0,
       "lane 0: 'reduce_tied *.0' is missing"},
      {"untied with reduce_tied",
       single + "load 0 | fwd 0.0 | bwd 0.0 | reduce_grads *.0 | reduce_tied *.0 | norm | step\n",
       "instruction 4 'reduce_tied *.0': this lane has no tied embedding"},
      {"reduce_tied before reduce_grads",
       "pp 1 dp 1 microbatches 1 stages 0 tied\nload 0 | fwd 0.0 | bwd 0.0 | reduce_tied *.0 | reduce_grads *.0 | norm "
       "| step\n",
       "instruction 3 'reduce_tied *.0': comes before reduce_grads"},
      {"wrong lane", two + "load 0 | fwd 0.1 | send_act 0.0 | recv_grad 0.0" + tail0 + two_lane1,
       "lane 0, instruction 1 'fwd 0.1': the stage does not sit on this lane"},
      {"unknown microbatch", single + "load 0 | load 1 | fwd 0.0" + tail0,
       "instruction 1 'load 1': the microbatch does not belong"},
      {"field missing", single + "load 0 | fwd 0" + tail0, "instruction 1 'fwd 0': needs a stage"},
      {"field too many", single + "load 0 | fwd 0.0 | bwd 0.0 | reduce_grads *.0 | norm 0 | step\n",
       "instruction 4 'norm 0': takes no microbatch"},
      {"parameters not gathered", single + "gather_params *.0.1 | load 0 | fwd 0.0 | free_params *.0.1" + tail0,
       "instruction 4 'bwd 0.0': its parameters are not gathered"},
      {"parameters not freed", single + "gather_params *.0.1 | load 0 | fwd 0.0" + tail0,
       "'step': gathered parameters are not freed"},
      {"gathered twice", single + "gather_params *.0.1 | gather_params *.0.1 | load 0 | fwd 0.0" + tail0,
       "instruction 1 'gather_params *.0.1': stands twice"},
      {"freed twice", single + "load 0 | fwd 0.0 | free_params *.0.1" + tail0,
       "instruction 2 'free_params *.0.1': these parameters are not gathered"},
      {"offloaded and not fetched", single + "load 0 | fwd 0.0 | offload 0.0" + tail0,
       "instruction 3 'bwd 0.0': what was offloaded is not fetched"},
      {"fetched out of nothing", single + "load 0 | fwd 0.0 | fetch 0.0" + tail0,
       "instruction 2 'fetch 0.0': nothing was offloaded"},
      {"recomputed after backward", single + "load 0 | fwd 0.0 | bwd 0.0 | refwd 0.0" + end,
       "instruction 3 'refwd 0.0': comes after its backward"},
      {"recomputed before forward", single + "load 0 | refwd 0.0 | fwd 0.0" + tail0,
       "instruction 1 'refwd 0.0': no forward"},
      {"segment forwards out of order", single + "load 0 | fwd 0.0.1 | fwd 0.0.0 | bwd 0.0.1 | bwd 0.0.0" + end,
       "instruction 2 'fwd 0.0.0': a later segment"},
      {"segment backwards out of order", single + "load 0 | fwd 0.0.0 | fwd 0.0.1 | bwd 0.0.0 | bwd 0.0.1" + end,
       "instruction 3 'bwd 0.0.0': a later segment"},
  };
}

TEST(Checker, RefusesEveryBrokenProgramNamingTheInstruction) {
  const auto programs = broken_programs();
  EXPECT_GE(programs.size(), 15U);
  for (const auto& broken : programs) EXPECT_THAT(refusal(broken.text), HasSubstr(broken.expected)) << broken.what;
}

TEST(Checker, RefusesAReductionThatAnotherLaneLacks) {
  PipelineShape shape;
  shape.dp = 2;
  shape.microbatches = 2;
  Program program = build("1f1b", shape);
  auto& lane = program.lanes[1];
  lane.insert(lane.begin(), {Kind::gather_params, -1, 0, 3, 0});
  lane.insert(lane.end() - 3, {Kind::free_params, -1, 0, 3, 0});
  EXPECT_THAT(refusal(program),
              HasSubstr("lane 1, instruction 0 'gather_params *.0.3': only 1 of its 2 lanes take part"));
}

TEST(Checker, RefusesMoreInFlightThanPromised) {
  PipelineShape shape;
  shape.pp = 3;
  shape.microbatches = 6;
  EXPECT_THAT(refusal(build("gpipe", shape), bounds("1f1b", shape)),
              HasSubstr("'fwd 3.0': 4 microbatches are in flight, but the schedule promises at most 3"));
}

TEST(Checker, RefusesBoundsOfAnotherLayout) {
  PipelineShape shape;
  Bounds limits;
  limits.max_in_flight = {1, 2};
  EXPECT_THAT(refusal(build("gpipe", shape), limits), HasSubstr("bounds are for 2 lanes"));
}

TEST(Checker, KnowsShardedOffloadedRecomputedAndSplitPrograms) {
  const std::string text =
      "pp 1 dp 1 microbatches 2 stages 0\n"
      "gather_params *.0.1 | load 0 | fwd 0.0 | offload 0.0 | load 1 | fwd 1.0 | free_params *.0.1 | gather_params "
      "*.0.1 | fetch 0.0 | "
      "refwd 0.0 | bwd_input 0.0 | refwd 1.0 | bwd_input 1.0 | bwd_weight 0.0 | bwd_weight 1.0 | free_params *.0.1 | "
      "reduce_grads *.0.1 | norm | step\n";
  EXPECT_EQ(refusal(text), "accepted");
  EXPECT_EQ(refusal("pp 1 dp 1 microbatches 1 stages 0\nload 0 | fwd 0.0.0 | fwd 0.0.1 | bwd 0.0.1 | bwd 0.0.0 | "
                    "reduce_grads *.0.1 | reduce_grads *.0.0 | norm | step\n"),
            "accepted");
}

TEST(Checker, ReportsPeakBytesWithReceivesRecomputationAndOffload) {
  PipelineShape shape;
  shape.pp = 2;
  shape.microbatches = 4;
  shape.boundary_bytes = 10;
  Bounds limits;
  limits.saved_bytes = {1000, 2000};
  const Report report = check(build("1f1b", shape), limits);
  EXPECT_THAT(report.max_in_flight, ElementsAre(2, 1));
  // Lane 0: two saved microbatches and up to two posted gradients; lane 1: one saved, two posted activations.
  EXPECT_THAT(report.peak_in_flight_bytes, ElementsAre(2 * 1000 + 2 * 10, 2000 + 2 * 10));

  limits.saved_bytes = {1000};
  limits.kept_bytes = {5};
  const Program recomputed = parse_program(
      "pp 1 dp 1 microbatches 2 stages 0\nload 0 | fwd 0.0 | load 1 | fwd 1.0 | refwd 0.0 | bwd 0.0 | refwd 1.0 | bwd "
      "1.0 | "
      "reduce_grads *.0 | norm | step\n");
  EXPECT_THAT(check(recomputed, limits).peak_in_flight_bytes, ElementsAre(1005));
  const Program offloaded = parse_program(
      "pp 1 dp 1 microbatches 2 stages 0\nload 0 | fwd 0.0 | offload 0.0 | load 1 | fwd 1.0 | offload 1.0 | fetch 0.0 "
      "| bwd 0.0 | "
      "fetch 1.0 | bwd 1.0 | reduce_grads *.0 | norm | step\n");
  EXPECT_THAT(check(offloaded, limits).peak_in_flight_bytes, ElementsAre(1000));
}

}  // namespace
}  // namespace troika::schedule
