#include "data/tokenized.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "data/data_test_support.h"
#include "data/loader.h"
#include "data/opened_samples.h"

namespace troika::data {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Ids = std::vector<std::int32_t>;

TokenizedLine parse(const std::string& line, std::int64_t most = 100) {
  return parse_tokenized_line(line, 50, most, "line 3 of 'x.jsonl'");
}

std::string refusal(const std::string& line) {
  return message_of<base::DataError>([&] { parse(line); });
}

TEST(TokenizedLine, HasIdsAndPerhapsLabels) {
  EXPECT_THAT(parse(R"({"input_ids": [1, 2, 49]})").ids, ElementsAre(1, 2, 49));
  EXPECT_THAT(parse(R"({"input_ids": [1, 2, 49]})").labels, IsEmpty());
  const TokenizedLine masked = parse(R"({"labels": [-100, 2, 0], "input_ids": [1, 2, 49]})");
  EXPECT_THAT(masked.ids, ElementsAre(1, 2, 49));
  EXPECT_THAT(masked.labels, ElementsAre(no_target, 2, 0));
  EXPECT_THAT(parse(R"({"input_ids": []})").ids, IsEmpty());
}

TEST(TokenizedLine, PassesOverOtherMembersHoweverDeep) {
  const TokenizedLine line = parse(
      R"({"text": "[1]", "meta": {"input_ids": [7], "labels": null, "x": [[1.5, {"a": true}]]}, "n": 1, "input_ids": [4], "mask": [1]})");
  EXPECT_THAT(line.ids, ElementsAre(4));
  EXPECT_THAT(line.labels, IsEmpty());
}

TEST(TokenizedLine, IsCutToTheLength) {
  const TokenizedLine line = parse(R"({"input_ids": [1, 2, 3], "labels": [1, -100, 3]})", 2);
  EXPECT_TRUE(line.truncated);
  EXPECT_THAT(line.ids, ElementsAre(1, 2));
  EXPECT_THAT(line.labels, ElementsAre(1, no_target));
  EXPECT_FALSE(parse(R"({"input_ids": [1, 2]})", 2).truncated);
}

TEST(TokenizedLine, RefusalsNameLineAndPlace) {
  EXPECT_THAT(refusal(R"({"input_ids": [1, 50]})"),
              HasSubstr("line 3 of 'x.jsonl': input_ids [1] is 50, but ids must be from 0 to 49"));
  EXPECT_THAT(refusal(R"({"input_ids": [-1]})"), HasSubstr("input_ids [0] is -1"));
  EXPECT_THAT(refusal(R"({"input_ids": [18446744073709551615]})"), HasSubstr("input_ids [0] is 9223372036854775807"));
  EXPECT_THAT(refusal(R"({"input_ids": [1], "labels": [-99]})"), HasSubstr("labels [0] is -99"));
  EXPECT_THAT(refusal(R"({"input_ids": [1], "labels": []})"), HasSubstr("0 labels stand beside 1 input_ids"));
  EXPECT_THAT(refusal(R"({"input_ids": [1.5]})"), HasSubstr("'input_ids' holds 1.5, not only ids"));
  EXPECT_THAT(refusal(R"({"input_ids": [[1]]})"), HasSubstr("'input_ids' holds an array"));
  EXPECT_THAT(refusal(R"({"input_ids": ["1"]})"), HasSubstr("'input_ids' holds a string"));
  EXPECT_THAT(refusal(R"({"input_ids": 1})"), HasSubstr("'input_ids' must be an array of ids, not 1"));
  EXPECT_THAT(refusal(R"({"input_ids": [1], "labels": null})"),
              HasSubstr("'labels' must be an array of ids, not null"));
  EXPECT_THAT(refusal(R"({"input_ids": [1], "input_ids": [2]})"), HasSubstr("'input_ids' stands twice"));
  EXPECT_THAT(refusal(R"({"labels": [1]})"), HasSubstr("'input_ids' is missing"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("a line must be an object with 'input_ids', not an array"));
  EXPECT_THAT(refusal("7"), HasSubstr("a line must be an object with 'input_ids'"));
  EXPECT_THAT(refusal(R"({"input_ids": [1)"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(R"({"x": 1e999, "input_ids": [1]})"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(R"({"x": )" + std::string(5000, '[') + std::string(5000, ']') + "}"),
              HasSubstr("nested deeper than 256 levels"));
  EXPECT_THAT(refusal(""), HasSubstr("not valid JSON"));
}

struct Row {
  Ids inputs, targets;
};

Row row_of(const Samples& samples, std::int64_t sample) {
  const auto length = static_cast<std::size_t>(samples.seq_len());
  Row row{Ids(length, 99), Ids(length, 99)};
  samples.read(sample, row.inputs.data(), row.targets.data());
  return row;
}

TEST(TokenizedSamples, AreTheLinesFilledUpToTheLength) {
  const TestFolder folder;
  const std::string path = folder.write("a.jsonl",
                                        "{\"input_ids\": [1, 2, 3]}\n\n"
                                        "{\"input_ids\": [5, 6, 7, 8, 9, 10], \"labels\": [5, 6, -100, 8, 9, 10]}\n"
                                        "{\"input_ids\": [4]}\r\n"
                                        "{\"input_ids\": [1, 2, 3, 4, 5], \"labels\": [-100, -100, 3, 4, 5]}");
  const TokenizedSamples samples(path, 5, 50);
  ASSERT_EQ(samples.samples(), 4);
  EXPECT_EQ(samples.truncated(), 1);
  EXPECT_EQ(samples.tokens(), 3 + 5 + 1 + 5);
  constexpr std::int32_t none = no_target;
  EXPECT_THAT(row_of(samples, 0).inputs, ElementsAre(1, 2, 3, 0, 0));
  EXPECT_THAT(row_of(samples, 0).targets, ElementsAre(2, 3, none, none, none));
  EXPECT_THAT(row_of(samples, 1).inputs, ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(row_of(samples, 1).targets, ElementsAre(6, none, 8, 9, none));
  EXPECT_THAT(row_of(samples, 2).targets, ElementsAre(none, none, none, none, none));
  EXPECT_THAT(row_of(samples, 3).targets, ElementsAre(none, 3, 4, 5, none));
  EXPECT_THROW(row_of(samples, 4), base::BugError);
}

TEST(TokenizedSamples, NameFileAndLineOfAFault) {
  const TestFolder folder;
  const std::string path = folder.write("a.jsonl", "{\"input_ids\": [1, 2]}\n\n{\"input_ids\": [1, 50]}\n");
  EXPECT_THAT(message_of<base::DataError>([&] { TokenizedSamples(path, 5, 50); }),
              HasSubstr("line 3 of '" + path + "': input_ids [1] is 50"));
  const std::string empty =
      folder.write("b.jsonl", "{\"input_ids\": [1]}\n{\"input_ids\": [1, 2], \"labels\": [1, -100]}\n");
  EXPECT_THAT(message_of<base::DataError>([&] { TokenizedSamples(empty, 5, 50); }),
              HasSubstr("has 2 samples, but no position with a target"));
}

TEST(OpenedSamples, GoByTheContentOfTheFile) {
  const TestFolder folder;
  const auto tokenizer = open_tokenizer("bytes");
  const auto open = [&](const std::string& path, Reading reading) {
    return open_samples({path, folder / "cache", 4, 0, reading}, {}, *tokenizer, {});
  };
  const std::string ids = folder.write("ids.jsonl", "\n{\"input_ids\": [1, 2, 3, 4, 5]}\n");
  for (const Reading reading : {Reading::training, Reading::evaluation}) {
    const OpenedSamples opened = open(ids, reading);
    EXPECT_EQ(opened.samples->samples(), 1);
    EXPECT_EQ(opened.truncated, 1);
    EXPECT_EQ(opened.vocab, tokenizer->vocab_size());
  }
  const std::string text = folder.write("text.jsonl", "{\"text\": \"abcdefghij\"}\n");  // 10 bytes and an end mark
  EXPECT_EQ(open(text, Reading::training).samples->samples(), 2);
  EXPECT_EQ(open(text, Reading::evaluation).samples->samples(), 3);
  EXPECT_EQ(open(text, Reading::evaluation).tokens, 11);
  const std::string damaged = folder.write("damaged.jsonl", "{\"input_ids\": [1, 2], \n");
  EXPECT_THAT(message_of<base::DataError>([&] { open(damaged, Reading::evaluation); }), HasSubstr("not valid JSON"));
}

}  // namespace
}  // namespace troika::data
