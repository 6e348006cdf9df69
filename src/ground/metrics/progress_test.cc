#include "metrics/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace troika::metrics {

static const ProgressText halfway = progress_text(StepState{100, 200, 4.1250, 12345.6, 200});
static const JobState job_halfway{{"tokenizing", "分词"}, 40 << 20, 50 << 20, 12300000, 3, 2.5};

// A FILE* whose content can be read back.
class Output {
 public:
  Output() : file_(std::tmpfile()) {}
  ~Output() { std::fclose(file_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  std::FILE* file() { return file_; }
  std::string text() {
    std::fflush(file_);
    std::rewind(file_);
    std::string content(1 << 16, '\0');
    content.resize(std::fread(content.data(), 1, content.size(), file_));
    std::fseek(file_, 0, SEEK_END);
    return content;
  }

 private:
  std::FILE* file_;
};

TEST(ProgressText, BarShowsStepPercentLossRateAndEta) {
  EXPECT_EQ(format_bar(halfway, 100),
            "step 100/200 [==================>                  ]  50% loss 4.1250 12.3 K tokens/s ETA 3 min 20 s");
}

TEST(ProgressText, BarFitsEveryWidth) {
  for (int width = 1; width <= 140; ++width)
    EXPECT_LE(format_bar(halfway, width).size(), static_cast<std::size_t>(width));
}

TEST(ProgressText, NarrowTerminalsLoseTheBarBeforeTheNumbers) {
  EXPECT_EQ(format_bar(halfway, 65), "step 100/200  50% loss 4.1250 12.3 K tokens/s ETA 3 min 20 s");
  EXPECT_EQ(format_bar(halfway, 30), "step 100/200  50% loss 4.1250");
}

TEST(ProgressText, FullAndEmptyBarsHaveTheRightEnds) {
  EXPECT_THAT(format_bar(progress_text(StepState{200, 200, 1, 50, 0}), 80),
              testing::AllOf(testing::HasSubstr("=] 100%"), testing::Not(testing::HasSubstr("ETA"))));
  EXPECT_THAT(format_bar(progress_text(StepState{0, 200, 1, 50, -1}), 80),
              testing::AllOf(testing::HasSubstr("[> "), testing::HasSubstr("  0% loss")));
  EXPECT_THAT(format_bar(progress_text(StepState{5, 0, 1, 50, -1}), 80), testing::HasSubstr("step 5/0"));
}

TEST(ProgressText, StrangeNumbersDoNotBreakTheLine) {
  EXPECT_EQ(format_line(progress_text(StepState{1, 2, std::nan(""), std::nan(""), -1})),
            "step 1/2 loss nan 0 tokens/s");
  EXPECT_EQ(format_line(progress_text(StepState{1, 2, 3, 42.25, -1})), "step 1/2 loss 3.0000 42.2 tokens/s");
}

TEST(ProgressStyleName, FollowsTheSetting) {
  Output out;
  EXPECT_EQ(progress_style(config::Progress::automatic, out.file()), ProgressStyle::lines);
  EXPECT_EQ(progress_style(config::Progress::bar, out.file()), ProgressStyle::bar);
  EXPECT_EQ(progress_style(config::Progress::none, out.file()), ProgressStyle::none);
}

TEST(Progress, LinesComeForFirstLastAndAtMostOncePerSecond) {
  Output out;
  {
    Progress progress(out.file(), {ProgressStyle::lines}, 0, 40, 0.0);
    for (int step = 1; step <= 40; ++step) progress.step_done(step, 1.0, 100, 0.1 * step);
  }
  std::vector<std::string> heads;
  for (const std::string& line : base::split(out.text(), '\n')) heads.push_back(line.substr(0, line.find(" loss")));
  EXPECT_EQ(heads, (std::vector<std::string>{"step 1/40", "step 11/40", "step 21/40", "step 31/40", "step 40/40", ""}));
}

TEST(Progress, EtaComesFromTheStepsOfThisAttempt) {
  Output out;
  Progress progress(out.file(), {ProgressStyle::lines}, 10, 20, 100.0);
  progress.step_done(11, 1.0, 100, 102.0);  // 2 s per step, 9 to go
  EXPECT_THAT(out.text(), testing::HasSubstr("ETA 18.0 s"));
}

TEST(Progress, BarRedrawsInPlaceWipesLeftoversAndEndsWithOneNewline) {
  Output out;
  {
    Progress progress(out.file(), {ProgressStyle::bar}, 0, 2, 0.0);
    progress.step_done(1, 10000.0, 100, 500.0);
    progress.step_done(2, 1.0, 100, 501.0);
    progress.finish();
  }
  const auto draws = base::split(out.text(), '\r');
  ASSERT_EQ(draws.size(), 3U);
  EXPECT_GE(draws[2].size(), draws[1].size());
  EXPECT_EQ(draws[2].back(), '\n');
  EXPECT_EQ(draws[1].find('\n'), std::string::npos);
}

TEST(Progress, NoteStandsOnItsOwnLineAndTheBarComesBack) {
  Output out;
  Progress progress(out.file(), {ProgressStyle::bar}, 0, 2, 0.0);
  progress.step_done(1, 1.0, 100, 1.0);
  progress.note(base::verbatim("saved step 1"));
  const auto draws = base::split(out.text(), '\r');
  EXPECT_EQ(draws[3], "saved step 1\n");
  EXPECT_EQ(draws[4], draws[1]);
}

TEST(Progress, LinesBeginWithTheTimeWhereTheyAreStamped) {
  Output out;
  std::vector<std::string> kept;
  {
    Progress progress(
        out.file(), {ProgressStyle::lines, Stamps::time_of_day, [&](const std::string& line) { kept.push_back(line); }},
        0, 30, 0.0);
    for (int step = 1; step <= 30; ++step) progress.step_done(step, 1.0, 100, step);
    progress.note(base::verbatim("saved step 30"));
  }
  for (const std::string& line : base::split(base::trim(out.text()), '\n'))
    EXPECT_THAT(line, testing::MatchesRegex("[0-9][0-9]:[0-9][0-9]:[0-9][0-9] (step|saved) .*"));
  ASSERT_EQ(kept.size(), 5U);
  EXPECT_THAT(kept[0], testing::StartsWith("step 1/30"));
  EXPECT_THAT(kept[1], testing::StartsWith("step 11/30"));
  EXPECT_THAT(kept[3], testing::StartsWith("step 30/30"));
  EXPECT_EQ(kept[4], "saved step 30");
}

TEST(Progress, NoneIsSilent) {
  Output out;
  {
    Progress progress(out.file(), {ProgressStyle::none}, 0, 2, 0.0);
    progress.step_done(1, 1.0, 100, 1.0);
  }
  EXPECT_EQ(out.text(), "");
}

TEST(JobProgress, SaysWhatIsDoneAndWhatIsLeft) {
  EXPECT_EQ(format_job_line(job_halfway),
            "tokenizing 40.0 MiB of 50.0 MiB  80% 2.5 s left (3 parts were finished before) 12.3 M tokens");
  const ProgressText text = progress_text(job_halfway);
  EXPECT_THAT(format_bar(text, 120), testing::HasSubstr("50.0 MiB [===="));
  EXPECT_THAT(format_bar(text, 60), testing::AllOf(testing::HasSubstr("MiB [======="), testing::EndsWith("s left")));
  for (int width = 1; width < 140; ++width) EXPECT_LE(format_bar(text, width).size(), static_cast<std::size_t>(width));
}

static std::string job_output(ProgressStyle style, std::initializer_list<std::pair<std::int64_t, double>> calls) {
  Output out;
  {
    JobProgress progress(out.file(), style, 1, base::Language::english);
    for (const auto& [bytes, seconds] : calls) progress.show({{"counting", "计数"}, bytes, 100, 0, 0}, seconds);
  }
  return out.text();
}

TEST(JobProgress, PrintsALineASecondAndOneAtTheEnd) {
  EXPECT_EQ(job_output(ProgressStyle::lines, {{0, 0}, {10, 0.9}, {20, 1.1}, {30, 1.5}, {100, 1.6}}),
            "counting 20 B of 100 B  20% 4.4 s left\ncounting 100 B of 100 B 100%\n");
}

TEST(JobProgress, SaysNothingOfShortWork) {
  for (const ProgressStyle style : {ProgressStyle::lines, ProgressStyle::bar})
    EXPECT_EQ(job_output(style, {{0, 0}, {50, 0.2}, {100, 0.4}}), "");
  EXPECT_EQ(job_output(ProgressStyle::none, {{0, 0}, {50, 20}, {100, 40}}), "");
}

TEST(JobProgress, RedrawsItsBar) {
  const std::string text = job_output(ProgressStyle::bar, {{0, 0}, {50, 1}, {100, 2}});
  EXPECT_THAT(text, testing::AllOf(testing::StartsWith("\rcounting 50 B"), testing::HasSubstr("\rcounting 100 B"),
                                   testing::EndsWith("\n")));
}

}  // namespace troika::metrics
