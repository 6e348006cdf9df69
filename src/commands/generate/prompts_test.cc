#include "commands/generate/prompts.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "commands/generate/printer.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;

class Prompts : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string refusal(const std::string& content) const {
    base::write_file_atomic(path("in"), content);
    try {
      read_prompts(path("in"));
    } catch (const base::DataError& error) {
      return error.what();
    }
    return "";
  }
  const base::TemporaryFolder folder_;
};

TEST_F(Prompts, AreTheMemberPromptOrTextOfEachLine) {
  base::write_file_atomic(path("in"), "{\"prompt\": \"a\", \"text\": 3, \"id\": 9}\n\n \n{\"text\": \"\\u00e9\"}");
  const auto lines = read_prompts(path("in"));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].prompt, "a");
  EXPECT_EQ(lines[0].object["id"], 9);
  EXPECT_EQ(lines[1].prompt, "\xC3\xA9");
  EXPECT_EQ(lines[1].number, 4);
}

TEST_F(Prompts, ErrorsNameTheLine) {
  EXPECT_THAT(refusal("{\"prompt\": \"a\"}\n{\"prompt\": 1}\n"),
              HasSubstr("line 2 of '" + path("in") + "': prompt is not a string"));
  EXPECT_THAT(refusal("{}\n"), HasSubstr("has neither a key \"prompt\" nor \"text\""));
  EXPECT_THAT(refusal("[]\n"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("{\"prompt\": \n"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("\n"), HasSubstr("holds no prompts"));
}

TEST_F(Prompts, LinesAreWrittenInTheirOrderAsSoonAsTheyMayBe) {
  OrderedLines lines(path("out"));
  lines.add(1, "one\n");
  EXPECT_EQ(base::read_file(path("out")), "");
  lines.add(0, "zero\n");
  EXPECT_EQ(base::read_file(path("out")), "zero\none\n");
  lines.add(3, "three\n");
  EXPECT_EQ(base::read_file(path("out")), "zero\none\n");
  lines.add(2, "two\n");
  EXPECT_EQ(base::read_file(path("out")), "zero\none\ntwo\nthree\n");
}

TEST_F(Prompts, AFileThatCannotBeWrittenIsAnError) {
  EXPECT_THROW(OrderedLines(path("nowhere/out")), base::DataError);
  OrderedLines full("/dev/full");
  EXPECT_THROW(full.add(0, "line\n"), base::DataError);
}

TEST_F(Prompts, ACharacterThatIsCutOffIsReplacedInJson) {
  EXPECT_EQ(to_line({{"completion", "a\xE4\xB8"}}), "{\"completion\":\"a\xEF\xBF\xBD\"}\n");
  EXPECT_EQ(to_line({{"completion", "\x1b\x7f\xC2\x9B"}}), "{\"completion\":\"\\u001b\\u007f\\u009b\"}\n");
}

TEST_F(Prompts, APrinterWaitsForWholeCharacters) {
  std::FILE* out = std::fopen(path("text").c_str(), "w");
  Printer printer(out);
  const auto printed = [&] { return base::read_file(path("text")); };
  printer.add("a\xE4");
  EXPECT_EQ(printed(), "a");
  printer.add("\xB8");
  EXPECT_EQ(printed(), "a");
  printer.add("\xADz\xF0");
  EXPECT_EQ(printed(), "a\xE4\xB8\xADz");
  printer.finish();
  EXPECT_EQ(printed(), "a\xE4\xB8\xADz\uFFFD\n");
  std::fclose(out);
}

TEST_F(Prompts, APrinterWritesBytesThatAreNoTextOnlyWhereTheyAreAskedFor) {
  for (const auto& [form, printed] : {std::pair{Printer::Form::text, "a\uFFFDb\uFFFD\x1b\uFFFD\n"},
                                      std::pair{Printer::Form::raw, "a\xFF" "b\xE4\xB8\x1b\xC3\n"}}) {
    std::FILE* out = std::fopen(path("text").c_str(), "w");
    Printer printer(out, form);
    for (const char* token : {"a\xFF", "b\xE4", "\xB8", "\x1b\xC3"}) printer.add(token);
    printer.finish();
    std::fclose(out);
    EXPECT_EQ(base::read_file(path("text")), printed);
  }
}

}  // namespace

namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

// Bytes, with marks as told; the byte '^' is the mark 256.
class MarkedBytes final : public tokenizer::Tokenizer {
 public:
  MarkedBytes(Ids begin, std::int32_t end) : begin_(std::move(begin)), end_(end) {}
  Ids encode(std::string_view text) const override {
    Ids ids;
    for (const char c : text) ids.push_back(c == '^' ? 256 : static_cast<unsigned char>(c));
    return ids;
  }
  Ids begin_ids() const override { return begin_; }
  std::string id_to_bytes(std::int32_t id) const override { return {static_cast<char>(id)}; }
  std::int64_t vocab_size() const override { return 260; }
  std::int32_t end_of_document_id() const override { return end_; }
  std::string fingerprint() const override { return ""; }
  std::size_t next_cut(std::string_view text, std::size_t) const override { return text.size(); }

 private:
  const Ids begin_;
  const std::int32_t end_;
};

Ids ids(const std::string& prompt, const Ids& begin, std::int32_t end = 257) {
  config::ModelSettings model;
  model.vocab = 258;
  model.max_positions = 5;
  return ids_of(prompt, MarkedBytes(begin, end), model, "the prompt of line 3");
}

std::string prompt_refusal(const std::string& prompt, const Ids& begin, std::int32_t end = 257) {
  try {
    ids(prompt, begin, end);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(PromptIds, StandBehindTheBeginMarkOnce) {
  EXPECT_THAT(ids("ab", {}), ElementsAre('a', 'b'));
  EXPECT_THAT(ids("ab", {256}), ElementsAre(256, 'a', 'b'));
  EXPECT_THAT(ids("^ab", {256}), ElementsAre(256, 'a', 'b'));
  EXPECT_THAT(ids("a^", {256}), ElementsAre(256, 'a', 256));
  EXPECT_THAT(ids("^a", {256, 257}), ElementsAre(256, 257, 256, 'a'));
}

TEST(PromptIds, OfAnEmptyPromptAreTheBeginMarkElseTheEndMark) {
  EXPECT_THAT(ids("", {256}), ElementsAre(256));
  EXPECT_THAT(ids("", {}), ElementsAre(257));
  EXPECT_THAT(prompt_refusal("", {}, -1), HasSubstr("the prompt of line 3 is empty"));
}

TEST(PromptIds, MarksCountAmongTheTokensThatTheModelHasRoomFor) {
  EXPECT_EQ(ids("abcd", {}).size(), 4u);
  EXPECT_THAT(prompt_refusal("abcd", {256}),
              HasSubstr("the prompt of line 3 has 5 tokens, but the model has 5 positions"));
  EXPECT_THAT(prompt_refusal("a", {258}), HasSubstr("has the token 258, but the model has only 258 tokens"));
}

}  // namespace

}  // namespace troika::commands
