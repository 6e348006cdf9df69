#include "data/tokenized_lines.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "data/loader.h"

namespace troika::data {
namespace {
using base::message_of;
using base::TestFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Ids = std::vector<std::int32_t>;

TokenizedLine parse(const std::string& line) { return parse_tokenized_line(line, 50, "line 3 of 'x.jsonl'"); }

std::string refusal(const std::string& line) {
  return base::message_of<base::DataError>([&] { parse(line); });
}

TEST(TokenizedLine, HasIdsAndPerhapsLabels) {
  EXPECT_THAT(parse(R"({"input_ids": [1, 2, 49]})").ids, ElementsAre(1, 2, 49));
  EXPECT_THAT(parse(R"({"input_ids": [1, 2, 49]})").labels, IsEmpty());
  const TokenizedLine masked = parse(R"({"labels": [-100, 2, 0], "input_ids": [1, 2, 49]})");
  EXPECT_THAT(masked.ids, ElementsAre(1, 2, 49));
  EXPECT_THAT(masked.labels, ElementsAre(ignore_index, 2, 0));
  EXPECT_THAT(parse(R"({"input_ids": []})").ids, IsEmpty());
}

TEST(TokenizedLine, PassesOverOtherMembersHoweverDeep) {
  const TokenizedLine line = parse(
      R"({"text": "[1]", "meta": {"input_ids": [7], "labels": null, "x": [[1.5, {"a": true}]]}, "n": 1, "input_ids": [4], "mask": [1]})");
  EXPECT_THAT(line.ids, ElementsAre(4));
  EXPECT_THAT(line.labels, IsEmpty());
}

TEST(TokenizedLine, RefusalsNameLineAndPlace) {
  EXPECT_THAT(refusal(R"({"input_ids": [1, 50]})"),
              HasSubstr("line 3 of 'x.jsonl': input_ids [1] is 50, but ids must be from 0 to 49"));
  EXPECT_THAT(refusal(R"({"input_ids": [-1]})"), HasSubstr("input_ids [0] is -1"));
  EXPECT_THAT(refusal(R"({"input_ids": [18446744073709551615]})"), HasSubstr("input_ids [0] is 9223372036854775807"));
  EXPECT_THAT(refusal(R"({"input_ids": [1], "labels": [-99]})"), HasSubstr("labels [0] is -99"));
  EXPECT_THAT(refusal(R"({"input_ids": [1], "labels": []})"), HasSubstr("0 labels for 1 input_ids"));
  EXPECT_THAT(refusal(R"({"input_ids": [1.5]})"), HasSubstr("'input_ids' holds 1.5, not only ids"));
  EXPECT_THAT(refusal(R"({"input_ids": [[1]]})"), HasSubstr("'input_ids' holds an array"));
  EXPECT_THAT(refusal(R"({"input_ids": ["1"]})"), HasSubstr("'input_ids' holds a string"));
  EXPECT_THAT(refusal(R"({"input_ids": 1})"), HasSubstr("'input_ids' must be an array of ids, not 1"));
  EXPECT_THAT(refusal(R"({"input_ids": [1], "labels": null})"),
              HasSubstr("'labels' must be an array of ids, not null"));
  EXPECT_THAT(refusal(R"({"input_ids": [1], "input_ids": [2]})"), HasSubstr("'input_ids' appears twice"));
  EXPECT_THAT(refusal(R"({"labels": [1]})"), HasSubstr("'input_ids' is missing"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("a line must be an object with 'input_ids', not an array"));
  EXPECT_THAT(refusal("7"), HasSubstr("a line must be an object with 'input_ids'"));
  EXPECT_THAT(refusal(R"({"input_ids": [1)"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(R"({"x": 1e999, "input_ids": [1]})"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(R"({"x": )" + std::string(5000, '[') + std::string(5000, ']') + "}"),
              HasSubstr("nested deeper than 256 levels"));
  EXPECT_THAT(refusal(""), HasSubstr("not valid JSON"));
}

TEST(TokenizedLines, AreTheLinesThatHaveIds) {
  const base::TestFolder folder;
  const std::string path = folder.write("a.jsonl",
                                        "{\"input_ids\": [1, 2, 3]}\n\n"
                                        "{\"input_ids\": []}\n"
                                        "{\"input_ids\": [4]}\r\n"
                                        "{\"input_ids\": [7, 8], \"labels\": [-100, 8]}");
  const TokenizedLines lines(path, 50);
  ASSERT_EQ(lines.count(), 3);
  EXPECT_EQ(lines.length(0), 3);
  EXPECT_EQ(lines.length(1), 1);
  Ids ids(2), labels(2);
  lines.read(2, ids.data(), labels.data());
  EXPECT_THAT(ids, ElementsAre(7, 8));
  EXPECT_THAT(labels, ElementsAre(ignore_index, 8));
  EXPECT_THROW(lines.length(3), base::BugError);
}

TEST(TokenizedLines, NameFileAndLineOfAFault) {
  const base::TestFolder folder;
  const std::string path = folder.write("a.jsonl", "{\"input_ids\": [1, 2]}\n\n{\"input_ids\": [1, 50]}\n");
  EXPECT_THAT(base::message_of<base::DataError>([&] { TokenizedLines(path, 50); }),
              HasSubstr("line 3 of '" + path + "': input_ids [1] is 50"));
}

}  // namespace
}  // namespace troika::data
