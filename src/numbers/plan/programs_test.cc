// Step programs from files that are refused.
#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "plan/plan_test_support.h"

namespace troika::plan {
namespace {
using testing::AllOf;
using testing::HasSubstr;

struct SmallLayout {
  int dp = 1, pp = 1, zero = 0;
  config::Offload offload = config::Offload::none;
};

class ScheduleFile : public testing::Test {
 protected:
  ScheduleFile() {
    settings_.model.hidden = 16;
    settings_.model.head_dim = 4;
    settings_.model.ffn = 24;
    settings_.batch.seq_len = 8;
    settings_.batch.global_batch_size = 6;
  }

  Plan plan_of(const SmallLayout& layout) const {
    config::Settings s = settings_;
    s.parallel.dp = layout.dp;
    s.parallel.pp = layout.pp;
    s.parallel.zero = layout.zero;
    s.parallel.offload = layout.offload;
    return small_plan(s, layout.dp * layout.pp);
  }

  std::string refusal_of(const SmallLayout& layout, const std::string& text) {
    settings_.parallel.schedule_file = folder_.path() + "/program.txt";
    base::write_file_atomic(settings_.parallel.schedule_file, text);
    std::string told = "accepted";
    try {
      plan_of(layout);
    } catch (const base::DataError& error) {
      told = error.what();
    }
    settings_.parallel.schedule_file.clear();
    return told;
  }

  config::Settings settings_ = small_settings();
  const base::TemporaryFolder folder_;
};

// `from` occurs in it; the first time is changed.
std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at == std::string::npos) throw base::BugError("'" + from + "' is not in the program");
  return text.replace(at, from.size(), to);
}

TEST_F(ScheduleFile, ABrokenOneIsRefusedWithItsPlaceNamed) {
  struct Case {
    std::string from, to, told;
  };
  const std::vector<Case> cases{
      {"pp 2", "pq 2", "word 1 must be 'pp'"},
      {"microbatches 2", "microbatches two", "word 10 ('microbatches') must hold whole numbers"},
      {"stages 0,1", "stages 0,7", "stage 1 sits on pp rank 7"},
      {"stages 0,1", "stages 0,0", "pp rank 1 has no stage"},
      {"segments 0,4,6", "segments 0,4,4", "stage 1 has no segment"},
      {"segments 0,4,6", "segments 0,4,9", "for segments 9, but this run has 6"},
      {" tied", "", "tied"},
      {"dp 1 replicas 1", "dp 1 replicas 2", "dp x cp 2, but this run has 1"},
      {"zero 0", "zero 2", "ZeRO stage 2, but this run has 0"},
      {"fwd 1.0", "fwdd 1.0", "instruction 'fwdd 1.0'"},
      {"fwd 1.0", "fwd 1.7", "'fwd 1.7'"},
      {"fwd 1.0", "fwd 9.0", "'fwd 9.0'"},
      {"fwd 1.0 |", "fwd 1.0|", "'fwd 1.0|"},
      {"reduce_grads *.0", "reduce_grads *.0.9", "'reduce_grads *.0.9'"},
      {"step *.0", "step *", "'step"},
      {" | bwd 1.0", "", "'reduce_grads *.0': not all weight backwards"},
      {" | send_act 1.0", "", "'recv_act 1.1'"},
      {" | recv_grad 0.0", "", "'bwd 0.0': no recv_grad"},
      {"norm | step *.0", "step *.0 | norm", "'step *.0': comes before norm"},
      {"reduce_grads *.0 | reduce_tied *.0", "reduce_tied *.0 | reduce_grads *.0", "'reduce_tied *.0'"},
      {"load 0 | fwd 0.0", "fwd 0.0", "'fwd 0.0': no load"},
      {" | norm", "", "norm"},
      {"fwd 0.0", "fwd 0.0 | fwd 0.0", "'fwd 0.0': appears twice"},
      {"step *.0", "step *.0 | offload *.0.1", "'offload *.0.1': no fetch"},
      {"| norm", "| gather_params *.0.1 | norm", "'gather_params *.0.1'"},
      {" | reduce_tied *.1", "", "reduce_tied"},
  };
  settings_.batch.global_batch_size = 2;
  const std::string sound = to_text(plan_of({1, 2}).program);
  ASSERT_EQ(refusal_of({1, 2}, sound), "accepted");
  for (const Case& c : cases) {
    EXPECT_THAT(refusal_of({1, 2}, changed(sound, c.from, c.to)), AllOf(HasSubstr("program.txt'"), HasSubstr(c.told)))
        << "'" << c.from << "' became '" << c.to << "'";
  }
}

TEST_F(ScheduleFile, ADeadlockIsRefusedWithTheInstructionsThatWait) {
  settings_.batch.global_batch_size = 2;
  const std::string text =
      "pp 2 dp 1 replicas 1 zero 0 microbatches 2 stages 0,1 segments 0,4,6 tied\n"
      "load 0 | fwd 0.0 | send_act 0.0 | recv_grad 0.0 | bwd 0.0 | load 1 | fwd 1.0 | send_act 1.0 | recv_grad 1.0 | "
      "bwd 1.0 | reduce_grads *.0 | reduce_tied *.0 | norm | step *.0\n"
      "recv_act 0.1 | load 0 | fwd 0.1 | recv_act 1.1 | load 1 | fwd 1.1 | bwd 0.1 | send_grad 0.1 | bwd 1.1 | "
      "send_grad 1.1 | reduce_grads *.1 | reduce_tied *.1 | norm | step *.1\n";
  EXPECT_THAT(refusal_of({1, 2}, text),
              AllOf(HasSubstr("deadlocked"), HasSubstr("grid rank 0 at instruction 4 'bwd 0.0'"),
                    HasSubstr("grid rank 1 at instruction 5 'fwd 1.1'")));
}

TEST_F(ScheduleFile, ABrokenExchangeOfReplicasIsRefused) {
  const std::string sound = to_text(plan_of({2, 1, 3}).program);
  const auto told = [&](const std::string& from, const std::string& to) {
    return refusal_of({2, 1, 3}, changed(sound, from, to));
  };
  EXPECT_THAT(told("gather_params *.0.0 | gather_params *.0.1", "gather_params *.0.1 | gather_params *.0.0"),
              HasSubstr("exchanges must come in one order"));
  EXPECT_THAT(told(" | free_params *.0.0", ""), HasSubstr("'gather_params *.0.0': appears twice"));
  EXPECT_THAT(told(" | reduce_grads 0.0.5", ""), HasSubstr("'bwd 0.0.0': comes before reduce_grads of the table's"));
  EXPECT_THAT(told(" | reduce_grads 0.0.4", ""), HasSubstr("'bwd 1.0.4': comes before reduce_grads"));
  EXPECT_THAT(told("gather_params *.0.0 | ", ""), HasSubstr("'fwd 0.0.0'"));
  EXPECT_THAT(told("fwd 0.0.0", "fwd 3.0.0"), HasSubstr("'fwd 3.0.0': the microbatch does not belong"));
}

TEST_F(ScheduleFile, WhatIsNoProgramIsRefused) {
  const std::string sound = to_text(plan_of({}).program);
  EXPECT_THAT(refusal_of({}, ""), HasSubstr("program text, line 1"));
  EXPECT_THAT(refusal_of({}, sound.substr(0, sound.find('\n'))), HasSubstr("program text has 0 rank lines"));
  EXPECT_THAT(refusal_of({}, sound + sound), HasSubstr("program text has 3 rank lines"));
  EXPECT_THAT(refusal_of({}, sound.substr(0, sound.size() / 2)), HasSubstr("program.txt'"));
  EXPECT_THAT(refusal_of({}, std::string("\0\xff\x7f ELF", 8)), HasSubstr("program text, line 1"));
  EXPECT_THAT(
      refusal_of({}, "pp 1 dp 1 replicas 1 zero 0 microbatches 6 stages 0 segments 0,6 tied evaluation\nloss\n"),
      HasSubstr("is an evaluation program"));
  EXPECT_THAT(refusal_of({1, 2}, sound), HasSubstr("is for pp 1, but this run has 2"));
  EXPECT_THAT(refusal_of({1, 1, 0, config::Offload::file}, sound),
              HasSubstr("grid rank 0 does not fetch the optimizer state of segment 0"));
  settings_.parallel.schedule_file = folder_.path() + "/nowhere.txt";
  EXPECT_THROW(small_plan(settings_, 1), base::DataError);
}

}  // namespace
}  // namespace troika::plan
