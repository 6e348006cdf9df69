// Step programs from files: printed ones, others of any order, and broken ones.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "train/chance_program_test_support.h"
#include "train/evaluation_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {
using testing::AllOf;
using testing::HasSubstr;

constexpr int layers = 4, microbatches = 6;

class ScheduleFile : public testing::Test {
 protected:
  using Rows = std::vector<metrics::StepMetrics>;

  ScheduleFile() {
    auto& s = runs_.settings;
    s.model.layers = layers;
    s.model.hidden = 16;
    s.model.head_dim = 4;
    s.model.ffn = 24;
    s.batch.seq_len = 8;
    s.batch.global_batch_size = microbatches;
    s.train.steps = 2;
  }

  Plan plan_of(const std::string& layout) const {
    config::Settings s = runs_.settings;
    s.train.out = runs_.folder("plans");
    const int world = apply_layout(layout, &s);
    return plan_for(s, world, runs_.stream());
  }

  std::string write(const std::string& text) const {
    const std::string path = runs_.folder("program.txt");
    base::write_file_atomic(path, text);
    return path;
  }

  // Run with the program of a file.
  Rows run_file(const std::string& name, const std::string& layout, const std::string& text) {
    runs_.settings.parallel.schedule_file = write(text);
    const Rows rows = runs_.train(name, layout);
    runs_.settings.parallel.schedule_file.clear();
    return rows;
  }

  static void expect_equal(const Rows& rows, const Rows& expected) {
    ASSERT_EQ(rows.size(), expected.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].loss_bits, expected[i].loss_bits) << "step " << rows[i].step;
      EXPECT_EQ(rows[i].grad_norm, expected[i].grad_norm) << "step " << rows[i].step;
      EXPECT_EQ(rows[i].extra, expected[i].extra) << "step " << rows[i].step;
    }
  }

  std::string refusal_of(const std::string& layout, const std::string& text) {
    runs_.settings.parallel.schedule_file = write(text);
    try {
      plan_of(layout);
    } catch (const base::DataError& error) {
      return error.what();
    }
    return "accepted";
  }

  LayoutRuns runs_;
};

TEST_F(ScheduleFile, APrintedProgramReadBackTrainsWithTheSameBits) {
  struct Case {
    std::string layout, read_as;  // read_as: without what the program decides
  };
  const std::vector<Case> cases{
      {"", ""},
      {"pp 2 zb-h1", "pp 2"},
      {"pp 2 interleaved 2", "pp 2"},
      {"stages 2,1,1 gpipe recompute full", "pp 3"},
      {"dp 2 pp 2 zero 3 zb-h1", "dp 2 pp 2 zero 3"},
      {"dp 3 zero 2 recompute full overlap off", "dp 3 zero 2"},
      {"dp 2 zero 1 offload file", "dp 2 zero 1 offload file"},
      {"dp 2 pp 2 overlap off", "dp 2 pp 2"},
  };
  const Rows alone = runs_.train("alone", "");
  for (const Case& c : cases) {
    SCOPED_TRACE(c.layout);
    const std::string text = to_text(plan_of(c.layout).program);
    expect_equal(run_file("file " + c.layout, c.read_as, text), alone);
    runs_.settings.parallel.schedule_file = runs_.folder("program.txt");
    const Plan read = plan_of(c.read_as);
    runs_.settings.parallel.schedule_file.clear();
    EXPECT_EQ(to_text(read.program), text);
    for (std::size_t lane = 0; lane < read.program.lanes.size(); ++lane) {
      const auto built = plan_of(c.layout).program.lanes[lane];
      for (std::size_t i = 0; i < built.size(); ++i)
        EXPECT_EQ(read.program.lanes[lane][i].bytes, built[i].bytes) << to_text(built[i]);
    }
  }
}

TEST_F(ScheduleFile, AnyOrderOfPassesAndAnyPlaceOfStagesGivesTheBitsOfOneProcess) {
  base::Draw draw("programs of chance");
  int together = 0;  // embedding and head on one rank of a pipeline
  const auto samples = unlike_samples(runs_.folder("samples"), runs_.settings.batch.seq_len);
  runs_.valid = samples.get();  // evaluations follow the stages to wherever they lie
  for (const bool tied : {true, false}) {
    runs_.settings.model.tie_embeddings = tied;
    const Rows alone = runs_.train(fmt::format("alone {}", tied), "");
    ASSERT_EQ(alone.back().extra.count("valid_loss"), 1u);
    for (int number = 0; number < 16; ++number) {
      const int dp = draw.from(1, 2), pp = draw.from(1, 3);
      const auto program = program_of_chance({pp, dp, layers + 2, microbatches, tied}, &draw);
      SCOPED_TRACE(to_text(program));
      const auto& ranks = program.pp_rank_of_stage;
      together += pp > 1 && ranks.front() == ranks.back() ? 1 : 0;
      expect_equal(
          run_file(fmt::format("chance {} {}", tied, number), fmt::format("dp {} pp {}", dp, pp), to_text(program)),
          alone);
    }
  }
  EXPECT_GT(together, 2);
}

// What a rank has freed is its own affair: the head's gather of the table must not depend on the embedding's.
TEST_F(ScheduleFile, OneRankMayFreeTheEmbeddingLaterThanItsReplica) {
  schedule::Program program = plan_of("dp 2 zero 3").program;
  auto& lane = program.lanes[0];
  const auto at = [&](schedule::Kind kind, int segment) {
    return std::find(lane.begin(), lane.end(), schedule::Instruction{kind, -1, 0, segment, 0});
  };
  const auto freed = at(schedule::Kind::free_params, 0), head = at(schedule::Kind::gather_params, layers + 1);
  ASSERT_LT(freed, head);
  std::rotate(freed, freed + 1, head + 1);
  expect_equal(run_file("late", "dp 2 zero 3", to_text(program)), runs_.train("alone", ""));
}

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
      {"bwd 0.0 | bwd 1.0", "bwd 1.0 | bwd 0.0", "'bwd 0.0': weight backwards of a stage must ascend"},
      {" | send_act 1.0", "", "'recv_act 1.1'"},
      {" | recv_grad 0.0", "", "'bwd 0.0': no recv_grad"},
      {"norm | step *.0", "step *.0 | norm", "'step *.0': comes before norm"},
      {"reduce_grads *.0 | reduce_tied *.0", "reduce_tied *.0 | reduce_grads *.0", "'reduce_tied *.0'"},
      {"load 0 | fwd 0.0", "fwd 0.0", "'fwd 0.0': no load"},
      {" | norm", "", "norm"},
      {"fwd 0.0", "fwd 0.0 | fwd 0.0", "'fwd 0.0': stands twice"},
      {"step *.0", "step *.0 | offload *.0.1", "'offload *.0.1': no fetch"},
      {"| norm", "| gather_params *.0.1 | norm", "'gather_params *.0.1'"},
      {" | reduce_tied *.1", "", "reduce_tied"},
  };
  runs_.settings.batch.global_batch_size = 2;
  const std::string sound = to_text(plan_of("pp 2").program);
  ASSERT_EQ(refusal_of("pp 2", sound), "accepted");
  for (const Case& c : cases) {
    EXPECT_THAT(refusal_of("pp 2", changed(sound, c.from, c.to)), AllOf(HasSubstr("program.txt'"), HasSubstr(c.told)))
        << "'" << c.from << "' became '" << c.to << "'";
  }
}

TEST_F(ScheduleFile, ADeadlockIsRefusedWithTheInstructionsThatWait) {
  runs_.settings.batch.global_batch_size = 2;
  const std::string text =
      "pp 2 dp 1 replicas 1 zero 0 microbatches 2 stages 0,1 segments 0,4,6 tied\n"
      "load 0 | fwd 0.0 | send_act 0.0 | recv_grad 0.0 | bwd 0.0 | load 1 | fwd 1.0 | send_act 1.0 | recv_grad 1.0 | "
      "bwd 1.0 | reduce_grads *.0 | reduce_tied *.0 | norm | step *.0\n"
      "recv_act 0.1 | load 0 | fwd 0.1 | recv_act 1.1 | load 1 | fwd 1.1 | bwd 0.1 | send_grad 0.1 | bwd 1.1 | "
      "send_grad 1.1 | reduce_grads *.1 | reduce_tied *.1 | norm | step *.1\n";
  EXPECT_THAT(refusal_of("pp 2", text), AllOf(HasSubstr("deadlocked"), HasSubstr("lane 0 at instruction 4 'bwd 0.0'"),
                                              HasSubstr("lane 1 at instruction 5 'fwd 1.1'")));
}

TEST_F(ScheduleFile, ABrokenExchangeOfReplicasIsRefused) {
  const std::string sound = to_text(plan_of("dp 2 zero 3").program);
  const auto told = [&](const std::string& from, const std::string& to) {
    return refusal_of("dp 2 zero 3", changed(sound, from, to));
  };
  EXPECT_THAT(told("gather_params *.0.0 | gather_params *.0.1", "gather_params *.0.1 | gather_params *.0.0"),
              HasSubstr("exchanges must come in one order"));
  EXPECT_THAT(told(" | free_params *.0.0", ""), HasSubstr("'gather_params *.0.0': stands twice"));
  EXPECT_THAT(told(" | reduce_grads 0.0.5", ""), HasSubstr("'bwd 2.0.5': comes before reduce_grads"));
  EXPECT_THAT(told("gather_params *.0.0 | ", ""), HasSubstr("'fwd 0.0.0'"));
  EXPECT_THAT(told("fwd 0.0.0", "fwd 1.0.0"), HasSubstr("'fwd 1.0.0': the microbatch does not belong"));
}

TEST_F(ScheduleFile, WhatIsNoProgramIsRefused) {
  const std::string sound = to_text(plan_of("").program);
  EXPECT_THAT(refusal_of("", ""), HasSubstr("program text, line 1"));
  EXPECT_THAT(refusal_of("", sound.substr(0, sound.find('\n'))), HasSubstr("program text has 0 lane lines"));
  EXPECT_THAT(refusal_of("", sound + sound), HasSubstr("program text has 3 lane lines"));
  EXPECT_THAT(refusal_of("", sound.substr(0, sound.size() / 2)), HasSubstr("program.txt'"));
  EXPECT_THAT(refusal_of("", std::string("\0\xff\x7f ELF", 8)), HasSubstr("program text, line 1"));
  EXPECT_THAT(
      refusal_of("", "pp 1 dp 1 replicas 1 zero 0 microbatches 6 stages 0 segments 0,6 tied evaluation\nloss\n"),
      HasSubstr("is the program of an evaluation"));
  EXPECT_THAT(refusal_of("pp 2", sound), HasSubstr("is for pp 1, but this run has 2"));
  EXPECT_THAT(refusal_of("offload file", sound), HasSubstr("lane 0 does not fetch the optimizer state of segment 0"));
  runs_.settings.parallel.schedule_file = runs_.folder("nowhere.txt");
  EXPECT_THROW(plan_of(""), base::DataError);
}

}  // namespace
}  // namespace troika::train
