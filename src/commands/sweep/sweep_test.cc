#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "base/text.h"
#include "commands/sweep/sweep.h"
#include "commands/sweep/one_run.h"
#include "rendezvous/failure_report.h"
#include "sweep/row.h"
#include "sweep/report.h"
#include "sweep/sweep_test_support.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

sweep::SweepRows three_rows() {
  return {sweep::unmeasured_row(sweep::layout_with(1, 4), sweep::SweepStatus::timeout, "did not end"),
          sweep::measured_row(sweep::layout_with(2, 2, 1), 5600), sweep::measured_row(sweep::layout_with(4, 1), 5769)};
}

TEST(Sweep, TakesStepsAndFolderFromItsOwnCommandLineAlone) {
  const base::TemporaryFolder folder;
  base::write_file_atomic(folder.path() + "/c.yaml", "train: {steps: 60, out: runs/alone}\n");
  const SweepArguments plain = parse_sweep({folder.path() + "/c.yaml", "--nproc", "4"}, {});
  EXPECT_EQ(plain.steps(), 5);
  EXPECT_EQ(plain.folder(), "runs/sweep");
  const SweepArguments stated = parse_sweep({"--nproc", "4", "--steps", "3", "--out", "x/", "--best", "2"}, {});
  EXPECT_EQ(stated.steps(), 3);
  EXPECT_EQ(stated.folder(), "x");
  EXPECT_EQ(stated.best, 2);
  EXPECT_THROW(parse_sweep({"--nproc", "4", "--steps", "1"}, {}), base::ConfigError);
  EXPECT_THROW(parse_sweep({}, {}), base::ConfigError);
}

TEST(Sweep, GoesOnWhereItWasAndRefusesAnotherTraining) {
  const base::TemporaryFolder folder;
  EXPECT_TRUE(sweep::kept_rows(folder.path()).empty());
  config::Settings settings;
  sweep::keep_basis(folder.path(), {settings, 1, 2});
  sweep::keep_basis(folder.path(), {settings, 1, 2});
  EXPECT_THROW(sweep::keep_basis(folder.path(), {settings, 1, 3}), base::ConfigError);
  EXPECT_THROW(sweep::keep_basis(folder.path(), {settings, 2, 2}), base::ConfigError);
  settings.batch.seq_len = 17;
  try {
    sweep::keep_basis(folder.path(), {settings, 1, 2});
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("batch.seq_len"), HasSubstr("another --out")));
  }
  base::write_file_atomic(folder.path() + "/summary.csv", to_csv(three_rows()));
  EXPECT_EQ(sweep::kept_rows(folder.path()).size(), 3u);
}

TEST(Sweep, RunsAgainWhatWasInterruptedOrHadLessTime) {
  const planner::Layout layout;
  EXPECT_FALSE(sweep::is_to_be_run_again(sweep::measured_row(layout, 1), 1e9));
  EXPECT_FALSE(sweep::is_to_be_run_again(sweep::unmeasured_row(layout, sweep::SweepStatus::failed, ""), 1e9));
  EXPECT_TRUE(sweep::is_to_be_run_again(sweep::unmeasured_row(layout, sweep::SweepStatus::interrupted, ""), 1));
  EXPECT_FALSE(sweep::is_to_be_run_again(sweep::unmeasured_row(layout, sweep::SweepStatus::timeout, ""), 60));
  EXPECT_TRUE(sweep::is_to_be_run_again(sweep::unmeasured_row(layout, sweep::SweepStatus::timeout, ""), 120));
}

TEST(Sweep, NamesTheBestAndHowFarThePlansFirstChoiceIsFromIt) {
  EXPECT_THAT(sweep::sweep_conclusion(three_rows(), sweep::layout_with(4, 1)).english,
              AllOf(HasSubstr("The best is " + planner::name_of(sweep::layout_with(4, 1)) + ": 5769 positions/s"),
                    HasSubstr("The plan ranked it first.")));
  EXPECT_THAT(sweep::sweep_conclusion(three_rows(), sweep::layout_with(2, 2, 1)).english,
              HasSubstr(planner::name_of(sweep::layout_with(2, 2, 1)) + ": 5600 positions/s, 2.9 % less"));
  EXPECT_THAT(sweep::sweep_conclusion(three_rows(), sweep::layout_with(1, 4)).english, HasSubstr("timeout: did not end"));
  EXPECT_EQ(sweep::sweep_conclusion({three_rows()[0]}, sweep::layout_with(1, 4)).english, "No layout was measured.");
  const std::string table = sweep::sweep_table(three_rows(), base::Language::english);
  EXPECT_LT(table.find("5769"), table.find("5600"));
  EXPECT_LT(table.find("5600"), table.find("timeout: did not end"));
}

TEST(Sweep, TellsWhyARunEndedByItsFailureReport) {
  const base::TemporaryFolder folder;
  OneRun run;
  run.failure_file = folder.path() + "/failure";
  run.logs_folder = folder.path();
  const OneRunEnd failed{OneRunEnd::Cause::by_itself, 75, 0, 1};
  EXPECT_EQ(reason_of(failed, run).english, "ended with exit code 75 and gave no reason");
  EXPECT_EQ(reason_of({OneRunEnd::Cause::by_itself, 0, 11, 1}, run).english, "was killed by signal 11 (SIGSEGV)");
  const auto reason = [&](const records::Incident& incident) {
    base::write_file_atomic(run.failure_file, to_text(rendezvous::FailureReport(75, incident)));
    return reason_of(failed, run);
  };
  records::Incident exited;
  exited.kind = records::IncidentKind::rank_exited;
  exited.who = {1, -1, "a", 7};
  exited.exit_code = 3;
  const std::string without_log = reason(exited).english;
  EXPECT_THAT(without_log, AllOf(HasSubstr("rank 1 (host a, pid 7)"), HasSubstr("code 3")));
  base::write_file_atomic(folder.path() + "/rank-00001.log", "hello\nthere is no file 'x'\n");
  EXPECT_EQ(reason(exited).english, without_log + ": there is no file 'x'");
  EXPECT_EQ(reason(records::failed(exited.who, {"it does not fit\n  on rank 1", "放不下\n  在 rank 1 上"}, {})).chinese,
            records::said(records::failed(exited.who, {"", "放不下; 在 rank 1 上"}, {})).chinese);
  const std::string cut = reason(records::told(base::verbatim(std::string(390, 'a') + "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"))).english;
  EXPECT_LE(cut.size(), 400u);
  EXPECT_TRUE(base::is_utf8(cut)) << cut;
}

TEST(Sweep, ReckonsWhatIsLeftByThePlanAndByTheStartsSoFar) {
  sweep::TimeLeft left(5);
  for (int i = 0; i < 3; ++i) left.add(2);
  EXPECT_DOUBLE_EQ(left.seconds(0), 3 * (5 * 2 + 3));
  left.begin(2);
  EXPECT_DOUBLE_EQ(left.seconds(4), 3 * 13 - 4);
  EXPECT_DOUBLE_EQ(left.seconds(100), 2 * 13);
  sweep::SweepRow row = sweep::measured_row(sweep::layout_with(2, 1), 192);  // a step in a second
  row.seconds = 12;
  left.finished(row);
  EXPECT_DOUBLE_EQ(left.seconds(0), 2 * (5 * 2 + 7));
}

TEST(SweepPlots, ShowTheFastestFirstWithTheLongestBar) {
  const sweep::SweepRows rows = three_rows();
  const auto plots = sweep::sweep_plots(rows, {5, 12, 192});
  ASSERT_EQ(plots.size(), 3u);
  for (const auto& [name, svg] : plots) {
    const auto fast = svg.find(planner::name_of(rows[2].layout)), slow = svg.find(planner::name_of(rows[1].layout));
    EXPECT_LT(fast, slow) << name;
    EXPECT_NE(slow, std::string::npos) << svg;
    EXPECT_THAT(svg, AllOf(HasSubstr("</svg>"), Not(HasSubstr(planner::name_of(rows[0].layout)))));
  }
  EXPECT_THAT(plots.at("throughput"), AllOf(HasSubstr("class=\"measured\" x=\"16.00\" y=\"83\" width=\"640.00\""),
                                            HasSubstr("measured 5769, predicted 768")));
  EXPECT_THAT(plots.at("shares"), HasSubstr("compute 56.7 %, communication 33.3 %, bubble 10.0 %"));
}

TEST(SweepPlots, AreNoneWhereNothingWasMeasured) {
  EXPECT_TRUE(sweep::sweep_plots({sweep::unmeasured_row(sweep::layout_with(1, 4), sweep::SweepStatus::failed, "no")}, {5, 12, 192}).empty());
}

}  // namespace
}  // namespace troika::commands
