#include "base/text.h"

#include <gmock/gmock.h>

namespace troika::base {
namespace {

using testing::ElementsAre;

TEST(TableLines, AreRowsWithoutCommentsAndEmptyLines) {
  EXPECT_THAT(table_lines("# what it is\n\na: b\nc"), ElementsAre("a: b", "c"));
  EXPECT_THAT(table_lines(""), ElementsAre());
}

TEST(CutAt, LeavesWhatComesBehindTheMark) {
  std::string_view line = "a: b: c";
  EXPECT_EQ(cut_at(": ", &line), "a");
  EXPECT_EQ(line, "b: c");
  EXPECT_EQ(cut_at(" | ", &line), "b: c");
  EXPECT_EQ(line, "");
  EXPECT_EQ(cut_at(": ", &line), "");
}

}  // namespace
}  // namespace troika::base
