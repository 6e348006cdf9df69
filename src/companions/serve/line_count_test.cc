#include "serve/line_count.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::serve {
namespace {

TEST(LinesOf, AreThoseWithText) {
  const base::TemporaryFolder folder;
  const auto count = [&](const std::string& text) {
    base::write_file_atomic(folder.path() + "/a.jsonl", text);
    std::int64_t budget = std::int64_t{1} << 30;
    return lines_of(folder.path(), "a.jsonl", &budget);
  };
  EXPECT_EQ(count(""), 0);
  EXPECT_EQ(count("{}"), 1);
  EXPECT_EQ(count("{}\n{}\n"), 2);
  EXPECT_EQ(count("{}\r\n \t\r\n\n{}"), 2);
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "{\"text\": 1}\n";
  EXPECT_EQ(count(many), 100'000);
}

TEST(LinesOf, StayWithinTheBudget) {
  const base::TemporaryFolder folder;
  base::write_file_atomic(folder.path() + "/a.jsonl", "12345\n");
  std::int64_t budget = 10;
  EXPECT_EQ(lines_of(folder.path(), "a.jsonl", &budget), 1);
  EXPECT_EQ(budget, 4);
  EXPECT_EQ(lines_of(folder.path(), "a.jsonl", &budget), std::nullopt);
  EXPECT_EQ(lines_of(folder.path(), "b.jsonl", &budget), std::nullopt);
}

}  // namespace
}  // namespace troika::serve
