#include "metrics/job_progress.h"

#include <gmock/gmock.h>

namespace troika::metrics {
namespace {

const JobState halfway{"tokenizing", 40 << 20, 50 << 20, 12300000, 3, 2.5};

TEST(JobProgress, SaysWhatIsDoneAndWhatIsLeft) {
  EXPECT_EQ(format_job_line(halfway),
            "tokenizing 40.0 MiB of 50.0 MiB  80% 2.5 s left (3 parts were there) 12.3 M tokens");
  EXPECT_THAT(format_job_bar(halfway, 120), testing::HasSubstr("50.0 MiB [===="));
  EXPECT_THAT(format_job_bar(halfway, 79),
              testing::AllOf(testing::HasSubstr("MiB [========"), testing::EndsWith("s left")));
  for (int width = 1; width < 140; ++width)
    EXPECT_LE(format_job_bar(halfway, width).size(), static_cast<std::size_t>(width));
}

std::string shown(ProgressStyle style, std::initializer_list<std::pair<std::int64_t, double>> calls) {
  std::FILE* file = std::tmpfile();
  {
    JobProgress progress(file, style, 1);
    for (const auto& [bytes, seconds] : calls) progress.show({"counting", bytes, 100, 0, 0}, seconds);
  }
  std::string text(4096, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

TEST(JobProgress, PrintsALineASecondAndOneAtTheEnd) {
  EXPECT_EQ(shown(ProgressStyle::lines, {{0, 0}, {10, 0.9}, {20, 1.1}, {30, 1.5}, {100, 1.6}}),
            "counting 20 B of 100 B  20% 4.4 s left\ncounting 100 B of 100 B 100%\n");
}

TEST(JobProgress, SaysNothingOfShortWork) {
  for (const ProgressStyle style : {ProgressStyle::lines, ProgressStyle::bar})
    EXPECT_EQ(shown(style, {{0, 0}, {50, 0.2}, {100, 0.4}}), "");
  EXPECT_EQ(shown(ProgressStyle::none, {{0, 0}, {50, 20}, {100, 40}}), "");
}

TEST(JobProgress, RedrawsItsBar) {
  const std::string text = shown(ProgressStyle::bar, {{0, 0}, {50, 1}, {100, 2}});
  EXPECT_THAT(text, testing::AllOf(testing::StartsWith("\rcounting 50 B"), testing::HasSubstr("\rcounting 100 B"),
                                   testing::EndsWith("\n")));
}

}  // namespace
}  // namespace troika::metrics
