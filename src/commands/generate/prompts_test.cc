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
              HasSubstr("line 2 of '" + path("in") + "': prompt is no text"));
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
}  // namespace troika::commands
