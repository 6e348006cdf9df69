// Step programs from files train with the bits of one process: printed ones and others of any order.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "train/chance_program_test_support.h"
#include "train/evaluation_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {

constexpr int layers = 4, microbatches = 6;

class ScheduleFile : public testing::Test {
 protected:
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

  plan::Plan plan_of(const std::string& layout) const {
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
    expect_equal_rows(run_file("file " + c.layout, c.read_as, text), alone, c.layout);
    runs_.settings.parallel.schedule_file = runs_.folder("program.txt");
    const plan::Plan read = plan_of(c.read_as);
    runs_.settings.parallel.schedule_file.clear();
    EXPECT_EQ(to_text(read.program), text);
    for (std::size_t grid_rank = 0; grid_rank < read.program.ranks.size(); ++grid_rank) {
      const auto built = plan_of(c.layout).program.ranks[grid_rank];
      for (std::size_t i = 0; i < built.size(); ++i)
        EXPECT_EQ(read.program.ranks[grid_rank][i].bytes, built[i].bytes) << to_text(built[i]);
    }
  }
}

TEST_F(ScheduleFile, AnyOrderOfPassesAndAnyPlaceOfStagesGivesTheBitsOfOneProcess) {
  base::Draw draw("programs of chance");
  int together = 0;  // embedding and head on one rank of a pipeline
  const auto samples = samples_of_varied_lengths(runs_.folder("samples"), runs_.settings.batch.seq_len);
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
      expect_equal_rows(
          run_file(fmt::format("chance {} {}", tied, number), fmt::format("dp {} pp {}", dp, pp), to_text(program)),
          alone, fmt::format("program {} of chance", number));
    }
  }
  EXPECT_GT(together, 2);
}

// The buffers a rank has freed are its own affair: the head's gather of the table must not depend on the embedding's.
TEST_F(ScheduleFile, OneRankMayFreeTheEmbeddingLaterThanItsReplica) {
  schedule::Program program = plan_of("dp 2 zero 3").program;
  auto& grid_rank = program.ranks[0];
  const auto at = [&](schedule::Kind kind, int segment) {
    return std::find(grid_rank.begin(), grid_rank.end(), schedule::Instruction{kind, -1, 0, segment, 0});
  };
  const auto freed = at(schedule::Kind::free_params, 0), head = at(schedule::Kind::gather_params, layers + 1);
  ASSERT_LT(freed, head);
  std::rotate(freed, freed + 1, head + 1);
  expect_equal_rows(run_file("late", "dp 2 zero 3", to_text(program)), runs_.train("alone", ""), "late");
}

}  // namespace
}  // namespace troika::train
