#include "commands/manual/manual.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "config/fields.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The words of a command of the examples, as a shell takes it: up to a pipe, with single quotes.
Words typed(std::string_view command) {
  Words words;
  bool quoted = false, open = false;
  for (const char c : command.substr(0, command.find(" | "))) {
    if (c == '\'') quoted = !quoted;
    if (c == ' ' && !quoted) open = false;
    if (c == '\'' || (c == ' ' && !quoted)) continue;
    if (!open) words.emplace_back();
    open = true;
    words.back() += c;
  }
  return words;
}

TEST(Manual, EveryPageHasItsSectionsAndExamplesThatTheProgramUnderstands) {
  for (const std::string& name : manual_pages()) {
    const std::string page = manual_page(name);
    for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"})
      EXPECT_THAT(page, HasSubstr(std::string("\n.SH ") + section + "\n")) << name;
    EXPECT_FALSE(notes_of(name).examples.empty()) << name;
    for (const Note& example : notes_of(name).examples) {
      Words words = typed(example.what);
      if (words.front() != "troika") continue;  // of the shell
      words.erase(words.begin());
      const Call call = call_of(words);
      EXPECT_THAT(read_with_flags_of(call.last(), call.words).errors, IsEmpty()) << example.what;
      const auto rest = std::find(words.begin(), words.end(), "--");
      if (rest == words.end()) continue;
      const Call behind = call_of({rest + 1, words.end()});
      EXPECT_THAT(read_with_flags_of(behind.last(), behind.words).errors, IsEmpty()) << example.what;
    }
    for (const std::string_view verb : notes_of(name).related) EXPECT_NO_THROW(manual_page(std::string(verb))) << verb;
  }
}

TEST(Manual, ThePageOfAVerbHasEveryFlagWithItsDefault) {
  for (const Verb& verb : verbs()) {
    const std::string page = manual_page(std::string(verb.name));
    std::vector<Verb> parts = verb.parts;
    if (parts.empty()) parts.push_back(verb);
    for (const Verb& part : parts) {
      const config::FlagTable table = part.flags();
      for (const config::FlagRow& row : table.rows())
        EXPECT_THAT(page, HasSubstr(roff_bold(row.flag->flag()))) << verb.name << " " << part.name;
    }
  }
  const std::string train = manual_page("train");
  for (const config::Field& field : config::fields()) EXPECT_THAT(train, HasSubstr(roff_bold(field.flag())));
  EXPECT_THAT(train, HasSubstr("Transformer layers. Default: 4."));
  EXPECT_THAT(manual_page("launch"), HasSubstr("\\fBPET_MAX_RESTARTS\\fR"));
}

TEST(Manual, PagesAreFoundByAnyOfTheirNamesAndRefusedWithTheNearest) {
  EXPECT_EQ(manual_page("troika-train.1"), manual_page("train"));
  EXPECT_EQ(manual_page("troika.1"), manual_page("troika"));
  try {
    manual_page("trian");
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_STREQ(error.what(), "unknown page 'trian'; did you mean 'train'?");
  }
  EXPECT_THROW(manual_report(call_of({"manual", "train", "--out", "x"})), base::ConfigError);
}

TEST(Manual, WritesAPageForEachVerb) {
  const base::TemporaryFolder folder;
  Call call;
  call.words = {"--out", folder.path()};
  EXPECT_EQ(manual_report(call), "");
  const auto pages = base::list_directory(folder.path() + "/man1");
  EXPECT_EQ(pages.size(), manual_pages().size());
  EXPECT_THAT(pages, testing::IsSupersetOf({"troika.1", "troika-launch.1", "troika-train.1"}));
}

TEST(Roff, PrintsWhatWasTypedLetterByLetter) {
  EXPECT_EQ(roff_text("--a 'b' ~/x\\n"), "\\-\\-a \\(aqb\\(aq \\(ti/\\:x\\en");
  EXPECT_EQ(roff_text("\u27e6"), "\\[u27E6]");
  EXPECT_EQ(roff_prose("see `troika help` or `x"), "see \\fBtroika help\\fR or \\(gax");
}

TEST(Roff, NoLineOfTextIsARequest) {
  RoffPage page;
  page.paragraph(".TH is text");
  page.lines(".x\n'y");
  EXPECT_EQ(page.text(), ".PP\n\\&.TH is text\n.PP\n.RS 4\n.nf\n\\&.x\n\\&'y\n.fi\n.RE\n");
}

}  // namespace
}  // namespace troika::commands
