#include "config/flag_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/say.h"
#include "config/config_test_support.h"

namespace troika::config {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

enum class Way { there, back };
constexpr Words<2> words_of(Way) { return {"there", "back"}; }

struct Values {
  std::string from, text;
  std::vector<std::string> to, names, rest;
  std::int64_t count = 3, size = 64 << 20;
  std::optional<double> seconds;
  std::vector<std::int64_t> ids;
  bool loud = false, steady = true;
  Way way = Way::there;
};

FlagTable table_of(Values& v) {
  FlagTable table("troika go");
  table.usage("FROM TO... [flags]");
  table.word("FROM", v.from, "Where it begins.").familiar({"model.path"}).required();
  table.word("TO...", v.to, "Where it goes.");
  table.add("count", v.count, "How often.").familiar({"number_of"}).variables({"COUNT"}).range(1, 9);
  table.add("size", v.size, "How large.").unit("bytes").range(1, 1e12);
  table.add("seconds", v.seconds, "How long.").unit("seconds").unset("for ever");
  table.add("id", v.ids, "Which ones.").repeated().range(0, 99);
  table.add("text", v.text, "Words.").any_word();
  table.add("loud", v.loud, "With noise.").alone();
  table.add("steady", v.steady, "Without a break.");
  table.add("way", v.way, "The way.").variables({"WAY"});
  table.ignore("pass-word", "nothing here needs one");
  return table;
}

FlagReading read(Values& v, const std::vector<std::string>& words) {
  const FlagTable table = table_of(v);
  return read_flags({&table}, words);
}

TEST(FlagTable, AFlagHasOneValueInWhicheverSpelling) {
  Values v;
  EXPECT_THAT(base::in(read(v, {"a", "--count", "5", "--number-of=6"}).errors, base::Language::english),
              ElementsAre("--count 5 and --number-of 6 contradict each other: keep one of them"));
  EXPECT_THAT(read(v, {"a", "--count", "5", "--number_of", "5", "--id", "1", "--id", "2"}).errors, IsEmpty());
}

TEST(FlagTable, TakesValuesOfEveryKind) {
  Values v;
  const FlagReading reading = read(v, {"a", "--count", "5", "--size=2KiB", "b", "--seconds", "500ms", "--id", "7",
                                       "--id=8", "--text", "--loud", "--way", "BACK", "c"});
  EXPECT_THAT(base::in(reading.errors, base::Language::english), IsEmpty());
  EXPECT_EQ(v.from, "a");
  EXPECT_THAT(v.to, ElementsAre("b", "c"));
  EXPECT_EQ(v.count, 5);
  EXPECT_EQ(v.size, 2048);
  EXPECT_EQ(v.seconds, 0.5);
  EXPECT_THAT(v.ids, ElementsAre(7, 8));
  EXPECT_EQ(v.text, "--loud");
  EXPECT_FALSE(v.loud);
  EXPECT_EQ(v.way, Way::back);
  EXPECT_TRUE(reading.states("count"));
  EXPECT_FALSE(reading.states("loud"));
}

TEST(FlagTable, AFlagThatIsTrueByStandingThereLeavesTheNextWordAlone) {
  Values v;
  read(v, {"--loud", "1", "--steady", "off"});
  EXPECT_TRUE(v.loud);
  EXPECT_EQ(v.from, "1");
  EXPECT_FALSE(v.steady);
  Values other;
  read(other, {"--loud=no", "--steady", "a"});
  EXPECT_FALSE(other.loud);
  EXPECT_EQ(other.from, "a");
}

TEST(FlagTable, DashesAndUnderscoresAreEqualAndFamiliarSpellingsKnown) {
  Values v;
  read(v, {"--number-of", "4"});
  EXPECT_EQ(v.count, 4);
  read(v, {"--number_of=5", "--model.path", "x", "y"});
  EXPECT_EQ(v.count, 5);
  EXPECT_EQ(v.from, "x");
  EXPECT_THAT(v.to, ElementsAre("y"));
}

TEST(FlagTable, TwoDashesAloneEndTheFlags) {
  Values v;
  read(v, {"--", "--count", "-"});
  EXPECT_EQ(v.from, "--count");
  EXPECT_THAT(v.to, ElementsAre("-"));
}

TEST(FlagTable, AllErrorsAreToldTogetherAndNoValueThatIsNotKnown) {
  Values v;
  const FlagReading reading = read(v, {"--cuont", "geheim", "--count", "0", "--size", "big", "--id", "100", "--way",
                                       "bak", "-x", "geheim", "--pass_word", "geheim", "--loud=loudly", "--seconds"});
  EXPECT_THAT(base::in(reading.errors, base::Language::english),
              ElementsAre("unknown flag --cuont; did you mean --count?", "--count must be at least 1, not 0",
                          "--size takes a size such as 500MB or 64MiB, not 'big'", "--id must be at most 99, not 100",
                          "--way takes there or back, not 'bak'; did you mean back?",
                          "unknown flag -x: flags begin with two dashes", "--loud takes true or false, not 'loudly'",
                          "--seconds needs a value", "troika go needs FROM; see troika go --help"));
  EXPECT_THAT(in_english(reading.notes), ElementsAre("--pass_word is ignored: nothing here needs one"));
  EXPECT_THAT(v.ids, IsEmpty());
  try {
    reading.finish();
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("geheim")));
  }
}

TEST(FlagTable, VariablesCountWhereNoFlagStandsAndAreNamedWhenWrong) {
  Values v;
  const FlagTable table = table_of(v);
  FlagReading reading = read_flags({&table}, {"a", "--way", "back"});
  read_variables(table, {{"COUNT", "many"}, {"WAY", "there"}}, &reading);
  EXPECT_EQ(v.way, Way::back);
  EXPECT_THAT(base::in(reading.errors, base::Language::english),
              ElementsAre("--count (COUNT) takes a whole number, not 'many'"));
  FlagReading good = read_flags({&table}, {"a"});
  read_variables(table, {{"COUNT", "7"}, {"WAY", ""}}, &good);
  EXPECT_EQ(v.count, 7);
}

TEST(FlagTable, TheRestGoesToAnotherCommandUntouched) {
  Values v;
  FlagTable table("troika start");
  table.add("count", v.count, "How often.");
  table.rest("VERB ...", v.rest, "What is started.");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--count", "2", "go", "--count", "x", "--", "-h"},
        std::vector<std::string>{"--count", "2", "--", "go", "--count", "x", "--", "-h"}}) {
    v.rest.clear();
    const FlagReading reading = read_flags({&table}, words);
    EXPECT_THAT(base::in(reading.errors, base::Language::english), IsEmpty());
    EXPECT_FALSE(reading.help);
    EXPECT_THAT(v.rest, ElementsAre("go", "--count", "x", "--", "-h"));
  }
}

TEST(FlagTable, TheHelpPageShowsNamesValuesAndDefaults) {
  Values v;
  const std::string page = help_page(table_of(v), base::Phrase("goes somewhere"), base::Language::english);
  EXPECT_THAT(page, AllOf(HasSubstr("troika go: goes somewhere\n\nusage: troika go FROM TO... [flags]\n"),
                          HasSubstr("  FROM\n      Where it begins.\n      also: --model.path\n"),
                          HasSubstr("  --count N\n      How often. [3]\n      also: --number_of; environment COUNT\n"),
                          HasSubstr("  --size N\n      How large. [64MiB]\n"), HasSubstr("[for ever]"),
                          HasSubstr("  --loud\n      With noise.\n"), HasSubstr("  --steady true|false\n"),
                          HasSubstr("  --way there|back\n      The way. [there]\n"),
                          HasSubstr("--pass-word: accepted and ignored; nothing here needs one\n")));
}

}  // namespace
}  // namespace troika::config
