#include "exporters/openmetrics.h"

#include <gmock/gmock.h>

#include <limits>

#include "base/temporary_folder_test_support.h"
#include "exporters/made_run_test_support.h"

namespace troika::exporters {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct MadeRun {
  explicit MadeRun(const std::string& name) : folder(base::temporary_folder() + "/" + name) { make_run(folder); }
  std::string render(double now = 1005) {
    run.refresh();
    seconds.follow(run);
    return openmetrics(run, seconds, {now, 1004.5}, TextFormat::open_metrics);
  }
  const std::string folder;
  records::RunReader run{folder};
  StepSeconds seconds;
};

TEST(OpenMetrics, TellsAllThatTheRunHasDataFor) {
  MadeRun made("whole");
  const std::string text = made.render(), written = TROIKA_BINARY_DIR "/openmetrics.txt";
  base::write_file_atomic(written, text);
  EXPECT_EQ(text, base::read_file(TROIKA_SOURCE_DIR "/src/ground/exporters/golden/openmetrics.txt"))
      << "is now in " << written;
}

TEST(OpenMetrics, OfAFolderWithoutARunIsTheProgramAlone) {
  records::RunReader run(base::temporary_folder() + "/absent");
  run.refresh();
  EXPECT_EQ(openmetrics(run, {}, {1, 0}, TextFormat::prometheus),
            "# TYPE troika_build_info gauge\n# HELP troika_build_info The program that says this.\n"
            "troika_build_info{version=\"0.1.0\"} 1\n");
}

TEST(OpenMetrics, EvaluatingAndSavingAreStates) {
  MadeRun made("places");
  EXPECT_THAT(made.render(), HasSubstr("troika_run_state{troika_run_state=\"training\"} 1\n"));
  records::Sample sample = made_sample(0, 1010);
  sample.number = 2;
  sample.place.at = records::doing_of("evaluating");
  add_sample(made.folder, sample);
  EXPECT_THAT(made.render(), AllOf(HasSubstr("troika_run_state{troika_run_state=\"evaluating\"} 1\n"),
                                   HasSubstr("troika_run_state{troika_run_state=\"training\"} 0\n")));
  sample.number = 3;
  sample.time = 1011;
  sample.place.at = records::doing_of("saving a checkpoint");
  add_sample(made.folder, sample);
  EXPECT_THAT(made.render(), HasSubstr("troika_run_state{troika_run_state=\"saving\"} 1\n"));
}

TEST(OpenMetrics, ARunThatHasEndedHasNoAges) {
  MadeRun made("ended");
  records::RunState state = made_state();
  state.life = records::Life::finished;
  records::write_run_state(made.folder, state);
  EXPECT_THAT(made.render(), AllOf(HasSubstr("{troika_run_state=\"finished\"} 1\n"), Not(HasSubstr("heartbeat_age"))));
}

TEST(OpenMetrics, EverySourceOfSeveralHasItsLossOfTheLastEvaluation) {
  MadeRun made("sources");
  metrics::StepMetrics evaluated = made_row(4, 1), later = made_row(5, 1);
  evaluated.extra = {
      {"valid_loss", 3}, {"valid_loss/a.jsonl", 2.5}, {"valid_loss/b \"c\"", 4}, {"valid_tokens/a.jsonl", 7}};
  add_row(made.folder, evaluated);
  add_row(made.folder, later);
  EXPECT_THAT(made.render(), AllOf(HasSubstr("\ntroika_valid_source_loss{source=\"a.jsonl\"} 2.5\n"
                                             "troika_valid_source_loss{source=\"b \\\"c\\\"\"} 4\n"),
                                   HasSubstr("\ntroika_valid_loss 3\n")));
}

TEST(OpenMetrics, ALossThatIsNoNumberIsNaN) {
  MadeRun made("nan");
  metrics::StepMetrics row = made_row(4, 1);
  row.loss = std::numeric_limits<double>::quiet_NaN();
  add_row(made.folder, row);
  EXPECT_THAT(made.render(), HasSubstr("\ntroika_loss NaN\n"));
}

TEST(OpenMetrics, OfSeveralRunsHaveTheirNamesInEverySample) {
  MadeRun first("first"), second("second");
  first.render();
  second.render();
  const std::string text =
      openmetrics({{"one", first.run, first.seconds, {1005, 0}}, {"two", second.run, second.seconds, {1005, 0}}},
                  TextFormat::open_metrics);
  EXPECT_THAT(text, AllOf(HasSubstr("\ntroika_step{run=\"one\"} 3\ntroika_step{run=\"two\"} 3\n"),
                          HasSubstr("troika_run_info{run=\"one\",model=\"qwen3-tiny: 4 layers\""),
                          HasSubstr("troika_build_info{version="), testing::EndsWith("# EOF\n")));
  std::size_t heads = 0;
  for (std::size_t at = text.find("# TYPE troika_loss gauge"); at != std::string::npos;
       at = text.find("# TYPE troika_loss gauge", at + 1))
    ++heads;
  EXPECT_EQ(heads, 1u);
}

TEST(StepSeconds, CountsEveryStepOnceAndThoseThatAreRepeatedAfterAResume) {
  MadeRun made("resumed");
  made.render();
  made.render();
  EXPECT_EQ(made.seconds.counts().front(), 1);
  EXPECT_DOUBLE_EQ(made.seconds.sum(), 1.004);
  metrics::MetricsFile(made.folder + "/metrics.jsonl").cut_after(2);
  made.render();
  add_row(made.folder, made_row(3, 4, 2000));
  made.render();
  EXPECT_EQ(made.seconds.counts().back(), 1);
  EXPECT_DOUBLE_EQ(made.seconds.sum(), 2001.004);
}

}  // namespace
}  // namespace troika::exporters
