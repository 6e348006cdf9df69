#include "base/text.h"

#include <gtest/gtest.h>

namespace troika::base {
namespace {

TEST(CsvField, IsQuotedWhereItMustBe) {
  EXPECT_EQ(csv_field("loss"), "loss");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_record({"a", "", "b,c"}), "a,,\"b,c\"");
}

}  // namespace
}  // namespace troika::base
