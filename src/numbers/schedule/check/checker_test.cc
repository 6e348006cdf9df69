#include "schedule/check/checker.h"

#include <gmock/gmock.h>

#include "schedule/shape_test_support.h"

namespace troika::schedule {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const Program& program, const Bounds& limits = {}) {
  return refusal_of<base::BugError>([&] { check(program, limits); });
}

std::string refusal(const std::string& text, const Bounds& limits = {}) { return refusal(parse_program(text), limits); }

// Lanes of one or two microbatches, three segments per stage.
const std::string single = "pp 1 dp 1 replicas 1 zero 0 microbatches 1 stages 0 segments 0,3\n";
const std::string one = "pp 1 dp 1 replicas 1 zero 0 microbatches 2 stages 0 segments 0,3\n";
const std::string two = "pp 2 dp 1 replicas 1 zero 0 microbatches 1 stages 0,1 segments 0,3,6\n";
const std::string two_rank0 =
    "load 0 | fwd 0.0 | send_act 0.0 | recv_grad 0.0 | bwd 0.0 | reduce_grads *.0 | norm | step *.0\n";
const std::string two_rank1 =
    "recv_act 0.1 | load 0 | fwd 0.1 | bwd 0.1 | send_grad 0.1 | reduce_grads *.1 | norm | step *.1\n";

TEST(Checker, AcceptsTheSoundPrograms) {
  EXPECT_EQ(refusal(two + two_rank0 + two_rank1), "accepted");
  EXPECT_EQ(
      refusal(one + "load 0 | load 1 | fwd 0.0 | fwd 1.0 | bwd 0.0 | bwd 1.0 | reduce_grads *.0 | norm | step *.0\n"),
      "accepted");
}

TEST(Checker, FindsDeadlockOfTwoRanksWaitingForEachOther) {
  const std::string rank0 =
      "load 0 | fwd 0.0 | recv_grad 0.0 | bwd 0.0 | send_act 0.0 | reduce_grads *.0 | norm | step *.0\n";
  EXPECT_THAT(refusal(two + rank0 + two_rank1),
              AllOf(HasSubstr("deadlocked"), HasSubstr("grid rank 0 at instruction 3 'bwd 0.0'"),
                    HasSubstr("grid rank 1 at instruction 2 'fwd 0.1'")));
}

TEST(Checker, FindsDeadlockOfRanksThatWaitForTotalsInAnotherOrder) {
  const auto rank = [](const std::string& m, const std::string& first, const std::string& second) {
    return "load " + m + " | fwd " + m + ".0 | fwd " + m + ".1 | bwd " + m + ".1 | bwd " + m + ".0 | reduce_grads *." +
           first + " | gather_grads *." + first + " | reduce_grads *." + second + " | gather_grads *." + second +
           " | norm | step *.0 | step *.1\n";
  };
  const std::string text = "pp 1 dp 2 replicas 2 zero 0 microbatches 2 stages 0,0 segments 0,1,2\n";
  EXPECT_THAT(
      refusal(text + rank("0", "0", "1") + rank("1", "1", "0")),
      HasSubstr("grid rank 0 at instruction 6 'gather_grads *.0', grid rank 1 at instruction 6 'gather_grads *.1'"));
}

struct Broken {
  const char* what;
  std::string text;
  const char* expected;
};

void expect_refused(const std::vector<Broken>& programs) {
  for (const auto& broken : programs) EXPECT_THAT(refusal(broken.text), HasSubstr(broken.expected)) << broken.what;
}

TEST(Checker, RefusesMessagesWithoutPartnerOrPlace) {
  const std::string tail0 = " | bwd 0.0 | reduce_grads *.0 | norm | step *.0\n";
  const std::string tail1 = " | reduce_grads *.1 | norm | step *.1\n";
  expect_refused({
      {"send without receive", two + two_rank0 + "load 0 | fwd 0.1 | bwd 0.1 | send_grad 0.1" + tail1,
       "grid rank 1, instruction 1 'fwd 0.1': no recv_act"},
      {"receive without send", two + "load 0 | fwd 0.0 | recv_grad 0.0" + tail0 + two_rank1,
       "grid rank 1, instruction 0 'recv_act 0.1': no rank sends the matching message"},
      {"gradient sent to nobody", two + "load 0 | fwd 0.0 | send_act 0.0" + tail0 + two_rank1,
       "grid rank 0, instruction 3 'bwd 0.0': no recv_grad"},
      {"gradient never sent", two + two_rank0 + "recv_act 0.1 | load 0 | fwd 0.1 | bwd 0.1" + tail1,
       "grid rank 0, instruction 3 'recv_grad 0.0': no rank sends"},
      {"last stage sends forward",
       two + two_rank0 + "recv_act 0.1 | load 0 | fwd 0.1 | send_act 0.1 | bwd 0.1 | send_grad 0.1" + tail1,
       "grid rank 1, instruction 3 'send_act 0.1': there is no stage"},
      {"send before forward", two + "load 0 | send_act 0.0 | fwd 0.0 | recv_grad 0.0" + tail0 + two_rank1,
       "grid rank 0, instruction 1 'send_act 0.0': no complete forward"},
      {"send_grad before backward",
       two + two_rank0 + "recv_act 0.1 | load 0 | fwd 0.1 | send_grad 0.1 | bwd 0.1" + tail1,
       "grid rank 1, instruction 3 'send_grad 0.1': no complete backward"},
      {"receive twice",
       two + two_rank0 + "recv_act 0.1 | recv_act 0.1 | load 0 | fwd 0.1 | bwd 0.1 | send_grad 0.1" + tail1,
       "grid rank 1, instruction 1 'recv_act 0.1': appears twice"},
      {"send twice", two + "load 0 | fwd 0.0 | send_act 0.0 | send_act 0.0 | recv_grad 0.0" + tail0 + two_rank1,
       "grid rank 0, instruction 3 'send_act 0.0': appears twice"},
      {"wrong rank", two + "load 0 | fwd 0.1 | send_act 0.0 | recv_grad 0.0" + tail0 + two_rank1,
       "grid rank 0, instruction 1 'fwd 0.1': the stage does not sit on this rank"},
  });
}

TEST(Checker, RefusesFieldsThatAreMissingTooManyOrOutOfRange) {
  const std::string tail = " | bwd 0.0 | reduce_grads *.0 | norm | step *.0\n";
  expect_refused({
      {"unknown microbatch", single + "load 0 | load 1 | fwd 0.0" + tail,
       "instruction 1 'load 1': the microbatch does not belong"},
      {"huge microbatch", single + "load 2147483647\n", "'load 2147483647': the microbatch does not belong"},
      {"unknown stage", single + "load 0 | fwd 0.7" + tail, "'fwd 0.7': the stage does not sit on this rank"},
      {"unknown segment", single + "load 0 | fwd 0.0.3" + tail, "'fwd 0.0.3': stage 0 has the segments 0 to 2"},
      {"field missing", single + "load 0 | fwd 0" + tail, "instruction 1 'fwd 0': needs a stage"},
      {"step without stage", single + "load 0 | fwd 0.0 | bwd 0.0 | reduce_grads *.0 | norm | step\n",
       "instruction 5 'step': needs a stage"},
      {"field too many", single + "load 0 | fwd 0.0 | bwd 0.0 | reduce_grads *.0 | norm 0 | step *.0\n",
       "instruction 4 'norm 0': takes no microbatch"},
      {"segment missing", single + "gather_params *.0\n", "instruction 0 'gather_params *.0': needs a segment"},
      {"segment of a message", two + "recv_grad 0.0.1\n\n", "instruction 0 'recv_grad 0.0.1': takes no segment"},
      {"reduction of a microbatch below ZeRO 2", single + "reduce_grads 0.0\n", "takes no microbatch"},
      {"reduction of all microbatches in ZeRO 2",
       "pp 1 dp 1 replicas 2 zero 2 microbatches 1 stages 0 segments 0,1\nreduce_grads *.0\n", "needs a microbatch"},
  });
}

TEST(Checker, RefusesComputationsTwiceTooEarlyOrNotAtAll) {
  const std::string end = " | reduce_grads *.0 | norm | step *.0\n";
  const std::string tail = " | bwd 0.0" + end;
  expect_refused({
      {"forward without load", single + "fwd 0.0 | load 0" + tail, "grid rank 0, instruction 0 'fwd 0.0': no load"},
      {"load twice", single + "load 0 | load 0 | fwd 0.0" + tail, "instruction 1 'load 0': appears twice"},
      {"forward twice", single + "load 0 | fwd 0.0 | fwd 0.0" + tail, "instruction 2 'fwd 0.0': appears twice"},
      {"segment forward twice", single + "load 0 | fwd 0.0 | fwd 0.0.1" + tail,
       "instruction 2 'fwd 0.0.1': appears twice"},
      {"backward twice", single + "load 0 | fwd 0.0 | bwd 0.0" + tail, "instruction 3 'bwd 0.0': appears twice"},
      {"backward before forward", single + "load 0 | bwd 0.0 | fwd 0.0" + end, "instruction 1 'bwd 0.0': no forward"},
      {"forward missing", one + "load 0 | fwd 0.0 | bwd 0.0" + end,
       "instruction 3 'reduce_grads *.0': not all weight backwards"},
      {"backward missing", single + "load 0 | fwd 0.0 | norm | step *.0\n", "grid rank 0: 'bwd 0.0.0' is missing"},
      {"weight half missing", single + "load 0 | fwd 0.0 | bwd_input 0.0 | norm | step *.0\n",
       "grid rank 0: 'bwd_weight 0.0.0' is missing"},
      {"weight half before input half", single + "load 0 | fwd 0.0 | bwd_weight 0.0 | bwd_input 0.0" + end,
       "instruction 2 'bwd_weight 0.0': no bwd_input"},
      {"weight half after whole backward", single + "load 0 | fwd 0.0 | bwd 0.0 | bwd_weight 0.0" + end,
       "instruction 3 'bwd_weight 0.0': appears twice"},
      {"segment forwards out of order", single + "load 0 | fwd 0.0.1 | fwd 0.0.0" + tail,
       "instruction 1 'fwd 0.0.1': no forward of the segment before"},
      {"segment backwards out of order", single + "load 0 | fwd 0.0 | bwd 0.0.0 | bwd 0.0.1" + end,
       "instruction 2 'bwd 0.0.0': no backward of the segment behind"},
      {"recomputed after backward", single + "load 0 | fwd 0.0 | bwd 0.0 | refwd 0.0" + end,
       "instruction 3 'refwd 0.0': comes after its backward"},
      {"recomputed between the halves",
       single + "load 0 | fwd 0.0 | bwd_input 0.0 | refwd 0.0.1 | bwd_weight 0.0" + end,
       "instruction 3 'refwd 0.0.1': comes after its backward"},
      {"recomputed before forward", single + "load 0 | refwd 0.0 | fwd 0.0" + tail,
       "instruction 1 'refwd 0.0': no forward"},
      {"recomputed twice", single + "load 0 | fwd 0.0 | refwd 0.0 | refwd 0.0.2" + tail,
       "instruction 3 'refwd 0.0.2': appears twice"},
      {"something after norm", single + "load 0 | fwd 0.0 | bwd 0.0 | reduce_grads *.0 | norm | step *.0 | load 0\n",
       "instruction 6 'load 0': comes after norm"},
      {"stage on the same rank too early",
       "pp 1 dp 1 replicas 1 zero 0 microbatches 1 stages 0,0 segments 0,1,2\nload 0 | fwd 0.1 | fwd 0.0\n",
       "instruction 1 'fwd 0.1': no forward of the previous stage"},
  });
}

TEST(Checker, RefusesReductionsTwiceTooEarlyOrNotAtAll) {
  const std::string passes = "load 0 | fwd 0.0 | bwd 0.0";
  // The first stage of two that share the table, and what the other runs.
  const std::string tied = "pp 2 dp 1 replicas 1 zero 0 microbatches 1 stages 0,1 segments 0,3,6 tied\n";
  const std::string first = tied + "load 0 | fwd 0.0 | send_act 0.0 | recv_grad 0.0 | bwd 0.0";
  const std::string last =
      "recv_act 0.1 | load 0 | fwd 0.1 | bwd 0.1 | send_grad 0.1 | reduce_grads *.1 | reduce_tied *.1 | norm | step "
      "*.1\n";
  expect_refused({
      {"reduce missing", single + passes + " | norm | step *.0\n", "grid rank 0: 'reduce_grads *.0.0' is missing"},
      {"one segment not reduced", single + passes + " | reduce_grads *.0.0 | reduce_grads *.0.2 | norm | step *.0\n",
       "grid rank 0: 'reduce_grads *.0.1' is missing"},
      {"reduced twice", single + passes + " | reduce_grads *.0.0 | reduce_grads *.0 | norm | step *.0\n",
       "instruction 4 'reduce_grads *.0': appears twice"},
      {"reduce too early", one + passes + " | reduce_grads *.0 | load 1 | fwd 1.0 | bwd 1.0 | norm | step *.0\n",
       "instruction 3 'reduce_grads *.0': not all weight backwards"},
      {"reduce behind norm", single + passes + " | norm | reduce_grads *.0 | step *.0\n",
       "instruction 4 'reduce_grads *.0': comes after norm"},
      {"norm missing", single + passes + " | reduce_grads *.0 | step *.0\n",
       "instruction 4 'step *.0': comes before norm"},
      {"norm twice", single + passes + " | reduce_grads *.0 | norm | norm | step *.0\n",
       "instruction 5 'norm': comes after norm"},
      {"step missing", single + passes + " | reduce_grads *.0 | norm\n", "grid rank 0: 'step *.0.0' is missing"},
      {"one segment without step", single + passes + " | reduce_grads *.0 | norm | step *.0.0 | step *.0.1\n",
       "grid rank 0: 'step *.0.2' is missing"},
      {"step twice", single + passes + " | reduce_grads *.0 | norm | step *.0 | step *.0.1\n",
       "instruction 6 'step *.0.1': appears twice"},
      {"tied without reduce_tied", first + " | reduce_grads *.0 | norm | step *.0\n" + last,
       "grid rank 0: 'reduce_tied *.0' is missing"},
      {"untied with reduce_tied", single + passes + " | reduce_grads *.0 | reduce_tied *.0 | norm | step *.0\n",
       "instruction 4 'reduce_tied *.0': this rank has no tied embedding"},
      {"reduce_tied before the embedding is reduced",
       first + " | reduce_grads *.0.1 | reduce_tied *.0 | reduce_grads *.0.0 | reduce_grads *.0.2 | norm\n" + last,
       "instruction 6 'reduce_tied *.0': comes before reduce_grads of the tied segment"},
      {"reduce_tied twice", first + " | reduce_grads *.0 | reduce_tied *.0 | reduce_tied *.0 | norm\n" + last,
       "instruction 7 'reduce_tied *.0': appears twice"},
      {"reduce_tied behind norm", first + " | reduce_grads *.0 | norm | reduce_tied *.0 | step *.0\n" + last,
       "instruction 7 'reduce_tied *.0': comes after norm"},
      {"a table reduced before the head has added to it",
       "pp 1 dp 1 replicas 1 zero 0 microbatches 1 stages 0,0 segments 0,1,2 tied\n"
       "load 0 | fwd 0.0 | fwd 0.1 | bwd_input 0.1 | bwd 0.0 | reduce_grads *.0 | bwd_weight 0.1 | reduce_grads *.1 | "
       "norm | step *.0 | step *.1\n",
       "instruction 5 'reduce_grads *.0': not all weight backwards of the head"},
      {"a table written by both uses before it is reduced",
       "pp 1 dp 1 replicas 2 zero 2 microbatches 1 stages 0 segments 0,2 tied\nload 0 | fwd 0.0 | bwd 0.0\n",
       "instruction 2 'bwd 0.0': comes before reduce_grads of the table's other use"},
      {"reduce_tied where one rank holds both uses",
       "pp 1 dp 1 replicas 1 zero 0 microbatches 1 stages 0 segments 0,3 tied\n" + passes +
           " | reduce_grads *.0 | reduce_tied *.0 | norm | step *.0\n",
       "instruction 4 'reduce_tied *.0': this rank has no tied embedding"},
      {"totals with one replica", single + passes + " | reduce_grads *.0 | gather_grads *.0 | norm | step *.0\n",
       "instruction 4 'gather_grads *.0': only ZeRO 0 with several replicas"},
      {"parameters gathered with one replica", single + "gather_params *.0.1 | " + passes + "\n",
       "instruction 0 'gather_params *.0.1': parameters are sharded only in ZeRO 1 to 3 with several replicas"},
      {"fetched and not offloaded", single + passes + " | reduce_grads *.0 | norm | fetch *.0.1 | step *.0\n",
       "grid rank 0: 'offload *.0.1' is missing"},
      {"offloaded and not fetched", single + passes + " | reduce_grads *.0 | norm | step *.0 | offload *.0.1\n",
       "instruction 6 'offload *.0.1': no fetch of its segment"},
      {"offloaded before step",
       single + passes + " | reduce_grads *.0 | norm | fetch *.0.1 | offload *.0.1 | step *.0\n",
       "instruction 6 'offload *.0.1': comes before step"},
      {"fetched behind step", single + passes + " | reduce_grads *.0 | norm | step *.0 | fetch *.0.1 | offload *.0.1\n",
       "instruction 6 'fetch *.0.1': comes after step"},
      {"fetched twice", single + passes + " | reduce_grads *.0 | fetch *.0.1 | norm | fetch *.0.1 | step *.0\n",
       "instruction 6 'fetch *.0.1': appears twice"},
  });
}

// One rank of two replicas (context parallelism), two segments, one or two microbatches.
std::string sharded(int zero, int microbatches, const std::string& rank) {
  return "pp 1 dp 1 replicas 2 zero " + std::to_string(zero) + " microbatches " + std::to_string(microbatches) +
         " stages 0 segments 0,2\n" + rank + "\n";
}

TEST(Checker, RefusesTotalsAndUpdatedParametersOutOfPlace) {
  const std::string passes = "load 0 | fwd 0.0 | bwd 0.0";
  expect_refused({
      {"totals missing", sharded(0, 1, passes + " | reduce_grads *.0 | gather_grads *.0.0 | norm | step *.0"),
       "grid rank 0: 'gather_grads *.0.1' is missing"},
      {"totals twice",
       sharded(0, 1, passes + " | reduce_grads *.0 | gather_grads *.0.0 | gather_grads *.0 | norm | step *.0"),
       "instruction 5 'gather_grads *.0': appears twice"},
      {"totals too early", sharded(0, 1, passes + " | gather_grads *.0 | reduce_grads *.0 | norm | step *.0"),
       "instruction 3 'gather_grads *.0': comes before reduce_grads"},
      {"totals behind norm", sharded(0, 1, passes + " | reduce_grads *.0 | norm | gather_grads *.0 | step *.0"),
       "instruction 5 'gather_grads *.0': comes after norm"},
      {"totals in ZeRO 1", sharded(1, 1, passes + " | reduce_grads *.0 | gather_grads *.0 | norm"),
       "instruction 4 'gather_grads *.0': only ZeRO 0"},
      {"totals before reduce_tied",
       "pp 2 dp 1 replicas 2 zero 0 microbatches 1 stages 0,1 segments 0,1,2 tied\n"
       "load 0 | fwd 0.0 | send_act 0.0 | recv_grad 0.0 | bwd 0.0 | reduce_grads *.0 | gather_grads *.0 | "
       "reduce_tied *.0 | norm | step *.0\n"
       "recv_act 0.1 | load 0 | fwd 0.1 | bwd 0.1 | send_grad 0.1 | reduce_grads *.1 | reduce_tied *.1 | "
       "gather_grads *.1 | norm | step *.1\n",
       "instruction 6 'gather_grads *.0': comes before reduce_tied"},
      {"parameters not brought back",
       sharded(1, 1, passes + " | reduce_grads *.0 | norm | step *.0 | gather_params *.0.0"),
       "grid rank 0: 'gather_params *.0.1' is missing"},
      {"parameters brought back before step",
       sharded(1, 1, passes + " | reduce_grads *.0 | norm | gather_params *.0.0 | step *.0"),
       "instruction 5 'gather_params *.0.0': comes before step"},
      {"parameters brought back twice",
       sharded(1, 1, passes + " | reduce_grads *.0 | norm | step *.0 | gather_params *.0.0 | gather_params *.0.0"),
       "instruction 7 'gather_params *.0.0': appears twice"},
      {"parameters freed in ZeRO 1", sharded(1, 1, passes + " | free_params *.0.0"),
       "instruction 3 'free_params *.0.0': these parameters are not gathered"},
      {"parameters gathered behind norm in ZeRO 3",
       sharded(3, 1,
               "gather_params *.0.0 | gather_params *.0.1 | " + passes +
                   " | reduce_grads 0.0 | free_params *.0.0 | free_params *.0.1 | norm | step *.0 | gather_params "
                   "*.0.0"),
       "instruction 10 'gather_params *.0.0': comes after norm"},
  });
}

TEST(Checker, RefusesUsesOfParametersThatAreNotThere) {
  const std::string gathers = "gather_params *.0.0 | gather_params *.0.1 | ";
  const std::string frees = " | free_params *.0.0 | free_params *.0.1";
  const std::string end = " | reduce_grads 0.0 | norm | step *.0";
  expect_refused({
      {"forward", sharded(3, 1, "gather_params *.0.0 | load 0 | fwd 0.0 | bwd 0.0" + end),
       "instruction 2 'fwd 0.0': the parameters of a segment it uses are not gathered"},
      {"backward", sharded(3, 1, gathers + "load 0 | fwd 0.0" + frees + " | bwd 0.0" + end),
       "instruction 6 'bwd 0.0': the parameters"},
      {"input backward", sharded(3, 1, gathers + "load 0 | fwd 0.0 | free_params *.0.1 | bwd_input 0.0.1" + end),
       "instruction 5 'bwd_input 0.0.1': the parameters"},
      {"recomputation", sharded(3, 1, gathers + "load 0 | fwd 0.0" + frees + " | refwd 0.0.0 | bwd 0.0" + end),
       "instruction 6 'refwd 0.0.0': the parameters"},
      {"not freed", sharded(3, 1, gathers + "load 0 | fwd 0.0 | bwd 0.0 | free_params *.0.0" + end),
       "instruction 7 'norm': gathered parameters are not freed"},
      {"gathered twice", sharded(3, 1, "gather_params *.0.0 | gather_params *.0.0"),
       "instruction 1 'gather_params *.0.0': appears twice, without free_params between"},
      {"freed twice", sharded(3, 1, gathers + "load 0 | fwd 0.0 | bwd 0.0" + frees + " | free_params *.0.0" + end),
       "instruction 7 'free_params *.0.0': these parameters are not gathered"},
      {"unused", sharded(3, 1, "gather_params *.0.0 | free_params *.0.0"),
       "instruction 1 'free_params *.0.0': these parameters were gathered and not used"},
  });
  EXPECT_EQ(refusal(sharded(3, 1, gathers + "load 0 | fwd 0.0 | bwd_input 0.0" + frees + " | bwd_weight 0.0" + end)),
            "accepted");
}

TEST(Checker, RefusesReductionsOfAMicrobatchOutOfTurn) {
  const std::string loads = "load 0 | load 1 | fwd 0.0 | fwd 1.0 | ";
  expect_refused({
      {"too early", sharded(2, 2, loads + "reduce_grads 0.0 | bwd 0.0"),
       "instruction 4 'reduce_grads 0.0': no weight backward of this microbatch"},
      {"twice", sharded(2, 2, loads + "bwd 0.0 | reduce_grads 0.0 | reduce_grads 0.0.1"),
       "instruction 6 'reduce_grads 0.0.1': appears twice"},
      {"missing", sharded(2, 2, loads + "bwd 0.0 | reduce_grads 0.0 | bwd 1.0 | reduce_grads 1.0.0 | norm | step *.0"),
       "grid rank 0: 'reduce_grads 1.0.1' is missing"},
      {"overwritten", sharded(2, 2, loads + "bwd 0.0 | reduce_grads 0.0.1 | bwd 1.0"),
       "instruction 6 'bwd 1.0': comes before reduce_grads of the microbatch before"},
  });
}

TEST(Checker, RefusesAMicrobatchOfAnotherShare) {
  StepShape shape = shape_of(1, 2, 4);
  Program equal = build("1f1b", shape);
  equal.shares = {1, 3};
  EXPECT_THAT(refusal(equal), HasSubstr("grid rank 0, instruction 3 'load 1': the microbatch does not belong"));
  shape.zero = 3;
  Program each_microbatch = build("1f1b", shape);
  each_microbatch.zero = 0;
  EXPECT_THAT(refusal(each_microbatch), HasSubstr("'reduce_grads 0.0.0': takes no microbatch"));
}

TEST(Checker, RefusesExchangesThatAnotherRankLacksOrHasInAnotherOrder) {
  StepShape shape = shape_of(1, 2, 2, 3);
  shape.zero = 3;
  Program program = build("1f1b", shape);
  auto& rank = program.ranks[1];
  const auto uses_first = rank.begin() + 3;  // gather 0, gather 1, load, fwd 0
  ASSERT_EQ(to_text(*uses_first), "fwd 1.0.0");
  ASSERT_EQ(to_text(*(uses_first + 1)), "free_params *.0.0");
  Program lacking = program;
  auto& shorter = lacking.ranks[1];
  // Keep segment 0 gathered for the whole step instead of gathering it again.
  for (std::size_t i = 0; i < shorter.size();) {
    const std::string text = to_text(shorter[i]);
    const bool drop = i > 3 && (text == "gather_params *.0.0" || (text == "free_params *.0.0" && i < 10));
    drop ? static_cast<void>(shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i))) : static_cast<void>(++i);
  }
  EXPECT_THAT(refusal(lacking), AllOf(HasSubstr("grid rank 0"), HasSubstr("only 1 of its 2 ranks take part in it")));
  std::swap(rank[0], rank[1]);
  EXPECT_THAT(refusal(program),
              HasSubstr("grid rank 1, instruction 0 'gather_params *.0.1': comes where grid rank 0 has "
                        "'gather_params *.0.0'; exchanges must come in one order"));
}

TEST(Checker, RefusesMoreInFlightThanPromised) {
  const StepShape shape = shape_of(3, 1, 6);
  EXPECT_THAT(refusal(build("gpipe", shape), bounds("1f1b", shape)),
              HasSubstr("'fwd 3.0': 4 microbatches are in flight, but the schedule promises at most 3"));
}

TEST(Checker, RefusesBoundsOfAnotherLayout) {
  Bounds limits;
  limits.max_in_flight = {1, 2};
  EXPECT_THAT(refusal(build("gpipe", shape_of(1, 1, 1)), limits), HasSubstr("bounds are for 2 ranks"));
  limits.max_in_flight.clear();
  limits.parameter_bytes = {1, 2};
  EXPECT_THAT(refusal(build("gpipe", shape_of(1, 1, 1)), limits), HasSubstr("0, 0 and 2 segments"));
}

TEST(Checker, RefusesSizesThatDoNotFitTogether) {
  const auto with = [](auto change) {
    Program program = build("1f1b", shape_of(2, 1, 2));
    change(&program);
    return refusal(program);
  };
  EXPECT_THAT(with([](Program* p) { p->pp = 0; }), HasSubstr("pp must be from 1"));
  EXPECT_THAT(with([](Program* p) { p->dp = -1; }), HasSubstr("dp must be from 1"));
  EXPECT_THAT(with([](Program* p) { p->zero = 7; }), HasSubstr("zero must be from 0 to 3"));
  EXPECT_THAT(with([](Program* p) { p->microbatches = 2000000000; }), HasSubstr("microbatches must be from 1"));
  EXPECT_THAT(with([](Program* p) { p->pp_rank_of_stage = {0, 5}; }), HasSubstr("stage 1 sits on pp rank 5"));
  EXPECT_THAT(with([](Program* p) { p->pp_rank_of_stage = {0, 0}; }), HasSubstr("pp rank 1 has no stage"));
  EXPECT_THAT(with([](Program* p) { p->pp_rank_of_stage.clear(); }), HasSubstr("stages must be from 1"));
  EXPECT_THAT(with([](Program* p) { p->segment_begin = {0, 1}; }), HasSubstr("2 stages need 3 segment boundaries"));
  EXPECT_THAT(with([](Program* p) { p->segment_begin = {1, 2, 3}; }), HasSubstr("begins with segment 1, not 0"));
  EXPECT_THAT(with([](Program* p) { p->segment_begin = {0, 2000000000, 2000000001}; }), HasSubstr("more than 65536"));
  EXPECT_THAT(with([](Program* p) { p->ranks.pop_back(); }), HasSubstr("it has 1 ranks instead of 2"));
  EXPECT_THAT(with([](Program* p) { p->ranks[1].clear(); }), HasSubstr("grid rank 1: 'fwd 0.1.1' is missing"));
}

TEST(Checker, ReportsPeakBytesWithMessagesAndRecomputation) {
  StepShape shape = shape_of(2, 1, 4, 2);
  shape.boundary_bytes = 10;
  Bounds limits;
  limits.saved_bytes = {400, 600, 500, 1500};
  limits.kept_bytes = {0, 2, 3, 4};
  limits.parameter_bytes = {7, 7, 7, 7};
  const Report report = check(build("1f1b", shape), limits);
  EXPECT_THAT(report.max_in_flight, ElementsAre(2, 1));
  // Rank 0: two saved microbatches, their activations not known to have arrived, their gradients posted. Rank 1: one
  // saved, the gradient of its last segment's input, an activation posted, the last gradient not known to have arrived.
  EXPECT_THAT(report.peak_activation_bytes, ElementsAre(2 * 1000 + 2 * 10 + 2 * 10, 2000 + 4 + 10 + 10));
  EXPECT_THAT(report.peak_gathered_bytes, ElementsAre(0, 0));
  shape.recompute = config::Recompute::full;
  // Rank 0: one microbatch kept (2), of another segment 1 saved (600), and the same messages. Rank 1: segment 2 kept
  // (3) and 3 saved, and the same.
  EXPECT_THAT(check(build("1f1b", shape), limits).peak_activation_bytes,
              ElementsAre(2 + 600 + 40, 3 + 1500 + 4 + 10 + 10));
}

TEST(Checker, WhatIsLeftBetweenTheHalvesOfBackwardCountsApart) {
  Bounds limits;
  limits.saved_bytes = {100, 100, 100};
  limits.half_bytes = {30, 40, 50};
  const std::string text = one +
                           "load 0 | load 1 | fwd 0.0 | bwd_input 0.0 | fwd 1.0 | bwd_weight 0.0 | bwd 1.0 | "
                           "reduce_grads *.0 | norm | step *.0\n";
  EXPECT_THAT(check(parse_program(text), limits).peak_activation_bytes, ElementsAre(120 + 300));
}

TEST(Checker, SavedBytesLiveUntilTheWeightBackward) {
  Bounds limits;
  limits.saved_bytes = {100, 100, 100};
  const std::string loads = "load 0 | load 1 | fwd 0.0 | bwd_input 0.0 | ";
  const std::string end = " | reduce_grads *.0 | norm | step *.0\n";
  const auto peak = [&](const std::string& middle) {
    return check(parse_program(one + loads + middle + end), limits).peak_activation_bytes[0];
  };
  EXPECT_EQ(peak("bwd_weight 0.0 | fwd 1.0 | bwd 1.0"), 300);
  EXPECT_EQ(peak("bwd_weight 0.0.2 | fwd 1.0 | bwd_weight 0.0.1 | bwd_weight 0.0.0 | bwd 1.0"), 500);
  EXPECT_EQ(peak("fwd 1.0 | bwd_input 1.0 | bwd_weight 0.0 | bwd_weight 1.0"), 600);
}

TEST(Checker, ReportsWhatZero3GathersAtOnce) {
  StepShape shape = shape_of(1, 2, 4, 5);
  shape.zero = 3;
  Bounds limits;
  limits.parameter_bytes = {1000, 10, 20, 40, 700};
  EXPECT_THAT(check(build("1f1b", shape), limits).peak_gathered_bytes, ElementsAre(1010, 1010));
  shape.overlap = Overlap::off;
  EXPECT_THAT(check(build("1f1b", shape), limits).peak_gathered_bytes, ElementsAre(1000, 1000));
}

}  // namespace
}  // namespace troika::schedule
