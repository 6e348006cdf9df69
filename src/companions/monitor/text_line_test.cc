#include "monitor/text_line.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/terminal_text.h"
#include "monitor/texts.h"

namespace troika::monitor {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(MonitorText, CountsColumnsOfChineseAndOfMarksThatJoin) {
  EXPECT_EQ(base::terminal_columns("abc"), 3u);
  EXPECT_EQ(base::terminal_columns("训练中"), 6u);
  EXPECT_EQ(base::terminal_columns("e\u0301"), 1u);
  EXPECT_EQ(base::terminal_columns("\u28ff\u2192\u00b7"), 3u);
  EXPECT_EQ(base::terminal_columns("\xff"), 1u);
}

TEST(MonitorText, IsCutBetweenCharacters) {
  EXPECT_EQ(cut_to("训练中", 5), "训练");
  EXPECT_EQ(shortened_to("训练中的", 6), "训练..");
  EXPECT_EQ(shortened_to("short", 6), "short");
  EXPECT_EQ(padded("训", 4), "训  ");
  EXPECT_EQ(padded_left("训", 4), "  训");
}

TEST(MonitorText, LinesHaveStylesOnlyWhereTheyAreAskedFor) {
  TextLine line;
  line.add("a ").add("bad", Style::bad).pad_to(8);
  EXPECT_EQ(line.plain(80), "a bad");
  EXPECT_EQ(line.coloured(80), "a \x1b[1;31mbad\x1b[0m   ");
  EXPECT_EQ(line.coloured(3), "a \x1b[1;31mb\x1b[0m");
}

TEST(MonitorText, IsWrappedAtSpacesAndBetweenChineseCharacters) {
  EXPECT_THAT(wrapped("rank 1 (host pi1) is slow", 12), ElementsAre("rank 1 (host", "pi1) is slow"));
  EXPECT_THAT(wrapped("主机正在换页", 6), ElementsAre("主机正", "在换页"));
  EXPECT_THAT(wrapped("a\nb\x1b[2J", 80), ElementsAre("a", "b\\x1b[2J"));
}

TEST(MonitorTable, LeavesOutColumnsOfLeastWeightAndEmptyOnes) {
  Table table({{"rank", Table::Align::right, 9},
               {"host", Table::Align::left, 5},
               {"empty", Table::Align::left, 7},
               {"pace", Table::Align::right, 8}});
  table.add_row({{"0"}, {"pi0"}, {""}, {"0.2 s"}});
  table.add_row({{"10"}, {"pi10"}, {""}, {"0.25 s"}});
  const auto text = [&](std::size_t width) {
    std::vector<std::string> lines;
    for (const TextLine& line : table.lines(width)) lines.push_back(line.plain(width));
    return lines;
  };
  EXPECT_THAT(text(80), ElementsAre("rank  host    pace", "   0  pi0    0.2 s", "  10  pi10  0.25 s"));
  EXPECT_THAT(text(14), ElementsAre("rank    pace", "   0   0.2 s", "  10  0.25 s"));
  EXPECT_THAT(text(5), ElementsAre("rank", "   0", "  10"));
}

TEST(MonitorSparkline, RisesFromTheLeastToTheLargest) {
  EXPECT_THAT(sparkline({1, 2, 3, 4}, 10, 1, Charset::utf8), ElementsAre("\u28e0\u28fe"));
  EXPECT_THAT(sparkline({1, 2, 3, 4, 5, 6, 7}, 10, 1, Charset::ascii), ElementsAre(".:-=+*#"));
  EXPECT_THAT(sparkline({1, 7}, 10, 2, Charset::ascii), ElementsAre(" #", ".#"));
  EXPECT_THAT(sparkline({5, 5 + 1e-12}, 10, 1, Charset::ascii), ElementsAre("=="));
}

TEST(MonitorSparkline, LongSeriesAreSpreadOverTheWidth) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(i);
  const auto lines = sparkline(values, 20, 3, Charset::utf8);
  EXPECT_THAT(lines, SizeIs(3));
  for (const std::string& line : lines) EXPECT_EQ(base::terminal_columns(line), 20u);
  EXPECT_EQ(sparkline(values, 7, 1, Charset::ascii).front(), ".:-=+*#");
}

TEST(MonitorSparkline, LeavesAGapWhereNothingIsFinite) {
  EXPECT_THAT(sparkline({1, std::nan(""), 7}, 9, 1, Charset::ascii), ElementsAre(". #"));
  EXPECT_THAT(sparkline({std::nan(""), INFINITY}, 9, 1, Charset::ascii), ElementsAre("  "));
  EXPECT_THAT(sparkline({}, 9, 1, Charset::ascii), IsEmpty());
}

TEST(MonitorSparkline, BarsAreFilledByTheirShare) {
  EXPECT_EQ(progress_bar(0.5, 4, Charset::ascii), "==..");
  EXPECT_EQ(progress_bar(2, 4, Charset::ascii), "====");
  EXPECT_EQ(progress_bar(std::nan(""), 2, Charset::ascii), "..");
  EXPECT_EQ(progress_bar(0.5, 2, Charset::utf8), "\u2588\u2591");
}

}  // namespace
}  // namespace troika::monitor
