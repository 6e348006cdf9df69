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
      R"({"text": "[1]", "meta": {"input_ids": [7], "labels": null, "x": [[1.5, {"a": true}]]}, "n": 1, "input_ids": [4], "special_tokens_mask": [1]})");
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
  EXPECT_THAT(refusal(R"({"input_ids": [1.5]})"), HasSubstr("'input_ids' must contain only ids, not 1.5"));
  EXPECT_THAT(refusal(R"({"input_ids": [[1]]})"), HasSubstr("'input_ids' must contain only ids, not an array"));
  EXPECT_THAT(refusal(R"({"input_ids": ["1"]})"), HasSubstr("'input_ids' must contain only ids, not a string"));
  EXPECT_THAT(refusal(R"({"input_ids": 1})"), HasSubstr("'input_ids' must be an array of ids, not 1"));
  EXPECT_THAT(refusal(R"({"input_ids": [1], "labels": null})"),
              HasSubstr("'labels' must be an array of ids, not null"));
  EXPECT_THAT(refusal(R"({"input_ids": [1], "input_ids": [2]})"), HasSubstr("'input_ids' is listed twice"));
  EXPECT_THAT(refusal(R"({"labels": [1]})"), HasSubstr("'input_ids' is missing"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("a line must be an object with 'input_ids', not an array"));
  EXPECT_THAT(refusal("7"), HasSubstr("a line must be an object with 'input_ids'"));
  EXPECT_THAT(refusal(R"({"input_ids": [1)"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(R"({"x": 1e999, "input_ids": [1]})"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(R"({"x": )" + std::string(5000, '[') + std::string(5000, ']') + "}"),
              HasSubstr("nested deeper than 256 levels"));
  EXPECT_THAT(refusal(""), HasSubstr("not valid JSON"));
}

TEST(TokenizedLine, HasNoLossWhereAMaskIsZero) {
  const std::int32_t none = ignore_index;
  const auto labels = [](const std::string& members) {
    return parse(R"({"input_ids": [1, 2, 3], )" + members + "}").labels;
  };
  EXPECT_THAT(labels(R"("loss_mask": [0, 0, 1])"), ElementsAre(none, none, 3));
  EXPECT_THAT(labels(R"("assistant_masks": [false, true, true])"), ElementsAre(none, 2, 3));
  EXPECT_THAT(labels(R"("completion_mask": [0, 1, 1], "assistant_masks": [1, 0, 1])"), ElementsAre(none, none, 3));
  EXPECT_THAT(labels(R"("labels": [-100, -100, 7], "response_mask": [0, 1, 1])"), ElementsAre(none, none, 7));
  EXPECT_THAT(labels(R"("loss_mask": null, "weight": 1)"), IsEmpty());
  EXPECT_THAT(labels(R"("weight": 0)"), ElementsAre(none, none, none));
  EXPECT_THAT(labels(R"("loss_mask": 0)"), ElementsAre(none, none, none));
  EXPECT_THAT(labels(R"("label": 3, "mask": null)"), IsEmpty());
}

TEST(TokenizedLine, LeavesOutPaddingAtItsEnds) {
  const TokenizedLine right = parse(R"({"input_ids": [1, 2, 3, 0, 0], "attention_mask": [1, 1, 1, 0, 0]})");
  EXPECT_THAT(right.ids, ElementsAre(1, 2, 3));
  EXPECT_THAT(right.labels, ElementsAre(1, 2, 3));
  const TokenizedLine left =
      parse(R"({"attention_mask": [0, 1, 1], "labels": [-100, -100, 9], "input_ids": [0, 2, 3]})");
  EXPECT_THAT(left.ids, ElementsAre(2, 3));
  EXPECT_THAT(left.labels, ElementsAre(ignore_index, 9));
  EXPECT_THAT(parse(R"({"input_ids": [0], "attention_mask": [0]})").ids, IsEmpty());
}

TEST(TokenizedLine, RefusesMasksThatSayNothingOrTwoThings) {
  const auto error = [](const std::string& members) { return refusal(R"({"input_ids": [1, 2, 3], )" + members + "}"); };
  EXPECT_THAT(error(R"("loss_mask": [0, 2, 1])"), HasSubstr("loss_mask [1] is 2, but must be 0 or 1"));
  EXPECT_THAT(error(R"("loss_mask": [0, 0.5, 1])"), HasSubstr("the mask 'loss_mask' holds 0.5"));
  EXPECT_THAT(error(R"("loss_mask": [0, 1])"), HasSubstr("2 values of 'loss_mask' for 3 input_ids"));
  EXPECT_THAT(error(R"("attention_mask": [1, 0, 1])"), HasSubstr("attention_mask [1] is 0 between attended ids"));
  EXPECT_THAT(error(R"("attention_mask": [1, 1, 2])"), HasSubstr("attention_mask [2] is 2"));
  EXPECT_THAT(error(R"("attention_mask": "1")"), HasSubstr("the mask 'attention_mask' holds a string"));
  EXPECT_THAT(error(R"("prompt_mask": [1, 0, 0])"), HasSubstr("unknown mask 'prompt_mask'"));
  EXPECT_THAT(error(R"("labels": [1, 2, 3], "loss_mask": [1, 0, 1])"),
              HasSubstr("labels [1] is 2 where loss_mask is 0: write -100 there"));
  EXPECT_THAT(error(R"("labels": [1, 2, 3], "attention_mask": [1, 1, 0])"),
              HasSubstr("labels [2] is 3 where attention_mask is 0"));
  EXPECT_THAT(error(R"("loss_mask": [1, 1, 1], "attention_mask": [1, 1, 0])"),
              HasSubstr("loss_mask [2] is 1 where attention_mask is 0"));
  EXPECT_THAT(error(R"("weight": 0.5)"),
              HasSubstr("'weight' is 0.5, but only 1 or true (loss) and 0 or false (no loss)"));
  EXPECT_THAT(error(R"("train": true, "weight": 0)"), HasSubstr("contradict each other"));
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

TEST(TokenizedLines, HaveAnotherFingerprintWhereMasksDecideThem) {
  const base::TestFolder folder;
  const auto fingerprint = [&](const std::string& name, const std::string& more) {
    return TokenizedLines(folder.write(name, "{\"input_ids\": [1, 2]" + more + "}\n"), 50).fingerprint();
  };
  const std::string text = "{\"input_ids\": [1, 2]}\n";
  EXPECT_EQ(fingerprint("a.jsonl", ""), base::hash_bytes("tokenized " + base::hash_bytes(text)));
  EXPECT_NE(fingerprint("b.jsonl", ", \"weight\": 0"),
            base::hash_bytes("tokenized " + base::hash_bytes("{\"input_ids\": [1, 2], \"weight\": 0}\n")));
}

TEST(TokenizedLines, NameFileAndLineOfAFault) {
  const base::TestFolder folder;
  const std::string path = folder.write("a.jsonl", "{\"input_ids\": [1, 2]}\n\n{\"input_ids\": [1, 50]}\n");
  EXPECT_THAT(base::message_of<base::DataError>([&] { TokenizedLines(path, 50); }),
              HasSubstr("line 3 of '" + path + "': input_ids [1] is 50"));
}

}  // namespace
}  // namespace troika::data
