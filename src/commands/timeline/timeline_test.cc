#include "commands/entry_points.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "schedule/build/builder.h"
#include "schedule/simulate/simulator.h"
#include "schedule/trace/trace_json.h"

namespace troika::commands {
namespace {

std::string timeline_report(const std::vector<std::string>& words) {
  return commands::timeline_report(words, base::Language::english);
}

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Timeline : public ::testing::Test {
 protected:
  Timeline() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    run_dir_ = std::string(TROIKA_BINARY_DIR) + "/timeline_test/" + test->name();
    base::remove_tree(run_dir_);
    base::make_directories(run_dir_ + "/timeline");
  }
  ~Timeline() override { base::remove_tree(run_dir_); }

  static schedule::StepTrace trace() {
    schedule::StepShape shape;
    shape.pp = 3;
    shape.microbatches = 4;
    shape.segment_begin = {0, 1, 2, 3};
    return schedule::simulate(schedule::build(config::Schedule::one_f_one_b, shape), schedule::unit_costs());
  }

  // Rank files of one step with clocks that are seconds apart.
  void record(std::int64_t step, const std::vector<int>& ranks) const {
    for (const int rank : ranks) {
      schedule::RankTrace file{step, -10.0 * rank, trace().ranks[static_cast<std::size_t>(rank)]};
      file.timeline.host = "pi" + std::to_string(rank);
      for (auto& event : file.timeline.events) {
        event.begin_seconds += 10.0 * rank;
        event.end_seconds += 10.0 * rank;
      }
      base::write_file_atomic(path(schedule::rank_trace_name(step, rank)), schedule::write_rank_trace(file));
    }
  }

  std::string path(const std::string& name) const { return run_dir_ + "/timeline/" + name; }

  template <class Error>
  std::string refusal(const std::vector<std::string>& arguments) const {
    try {
      timeline_report(arguments);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  std::string run_dir_;
};

TEST_F(Timeline, MergesRankFilesOnAlignedClocksAndShowsGridAndTable) {
  record(3, {0, 1, 2});
  const std::string text = timeline_report({run_dir_});
  EXPECT_THAT(text, HasSubstr("step 3 of " + run_dir_));
  EXPECT_THAT(text, HasSubstr("rank 0 | F0 F1 F2 .  .  B0 F3 B1 .  B2 .  B3 S\n"
                              "rank 1 | .  F0 F1 .  B0 F2 B1 F3 B2 .  B3 .  S\n"
                              "rank 2 | .  .  F0 B0 F1 B1 F2 B2 F3 B3 .  .  S\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("pi2"), HasSubstr("pipeline bubble 33.3%"),
                          HasSubstr("ui.perfetto.dev or in chrome://tracing")));
  EXPECT_THAT(text, HasSubstr(path("timeline_batch3_all.json")));
  EXPECT_THAT(text, Not(HasSubstr("note:")));
  EXPECT_TRUE(base::file_exists(path("timeline_batch3_all.json")));
}

TEST_F(Timeline, ReadsTheMergedFileWhenItIsThere) {
  record(3, {0, 1, 2});
  const std::string first = timeline_report({run_dir_});
  for (const int rank : {0, 1, 2}) base::remove_tree(path(schedule::rank_trace_name(3, rank)));
  EXPECT_EQ(timeline_report({run_dir_}), first);
  EXPECT_THAT(refusal<base::DataError>({run_dir_, "--merge"}), HasSubstr("no rank files of step 3"));
}

TEST_F(Timeline, MergeFlagReplacesTheMergedFile) {
  record(3, {0, 2});
  EXPECT_THAT(timeline_report({run_dir_}), HasSubstr("note: no trace of rank 1; copy the file"));
  record(3, {1});
  EXPECT_THAT(timeline_report({run_dir_}), Not(HasSubstr("rank 1 |")));
  EXPECT_THAT(timeline_report({run_dir_, "--merge"}), HasSubstr("rank 1 |"));
}

TEST_F(Timeline, FlagsChooseStepGridAndSummary) {
  record(3, {0, 1, 2});
  record(12, {0});
  EXPECT_THAT(timeline_report({run_dir_}), HasSubstr("step 12 of"));
  const std::string grid_only = timeline_report({"--step", "3", run_dir_, "--grid"});
  EXPECT_THAT(grid_only, AllOf(HasSubstr("step 3 of"), HasSubstr("| F0"), Not(HasSubstr("compute"))));
  EXPECT_THAT(timeline_report({"--step=3", run_dir_, "--summary"}),
              AllOf(HasSubstr("compute"), Not(HasSubstr("| F0"))));
}

TEST_F(Timeline, BadArgumentsAreRefusedWithWhatWorks) {
  EXPECT_THAT(refusal<base::ConfigError>({}), HasSubstr("troika timeline needs RUN_DIR"));
  EXPECT_THAT(refusal<base::ConfigError>({run_dir_, "other"}), HasSubstr("unexpected argument 'other'"));
  EXPECT_THAT(refusal<base::ConfigError>({run_dir_, "--stp"}), HasSubstr("did you mean --step?"));
  EXPECT_THAT(refusal<base::ConfigError>({run_dir_, "--step", "x"}), HasSubstr("not 'x'"));
  EXPECT_THAT(refusal<base::ConfigError>({run_dir_, "--step"}), HasSubstr("--step needs"));
  EXPECT_THAT(refusal<base::ConfigError>({run_dir_ + "/absent"}), HasSubstr("there is no run folder"));
  EXPECT_THAT(refusal<base::ConfigError>({run_dir_}), HasSubstr("has no recorded steps"));
  record(3, {0});
  EXPECT_THAT(refusal<base::ConfigError>({run_dir_, "--step", "4"}), HasSubstr("step 4 was not recorded; recorded: 3"));
}

TEST_F(Timeline, DamagedFilesAreRefusedByName) {
  record(3, {0, 1});
  base::write_file_atomic(path("timeline_batch3_rank1.json"), "{\"step\": 3");
  EXPECT_THAT(refusal<base::DataError>({run_dir_}), HasSubstr("timeline_batch3_rank1.json: not valid JSON"));
  base::write_file_atomic(path("timeline_batch3_rank1.json"), base::read_file(path("timeline_batch3_rank0.json")));
  EXPECT_THAT(refusal<base::DataError>({run_dir_}), HasSubstr("contains step 3 of rank 0, which does not match its name"));
  base::write_file_atomic(path("timeline_batch3_all.json"), "");
  EXPECT_THAT(refusal<base::DataError>({run_dir_}), HasSubstr("timeline_batch3_all.json"));
}

TEST_F(Timeline, OtherFilesInTheFolderArePassedOver) {
  record(3, {0});
  for (const char* name :
       {"notes.txt", "timeline_batchx_rank0.json", "timeline_batch9_rank.json", "timeline_batch9.json"}) {
    base::write_file_atomic(path(name), "x");
  }
  EXPECT_THAT(timeline_report({run_dir_}), HasSubstr("step 3 of"));
}

}  // namespace
}  // namespace troika::commands
