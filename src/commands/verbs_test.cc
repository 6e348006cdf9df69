#include "commands/verbs.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/say.h"
#include "commands/entry_points.h"
#include "config/command_line.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr auto english = base::Language::english;

std::string refusal(const Words& arguments) {
  try {
    call_of(arguments);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

// Every verb and part with flags of its own, as a command line without flags.
std::vector<Words> commands() {
  std::vector<Words> result;
  for (const Verb& verb : verbs()) {
    if (verb.parts.empty()) result.push_back({std::string(verb.name)});
    for (const Verb& part : verb.parts) result.push_back({std::string(verb.name), std::string(part.name)});
  }
  return result;
}

Words with(Words words, const std::string& more) {
  words.push_back(more);
  return words;
}

TEST(Verbs, AreFoundWithTheirPartAndRefusedWithTheNearestName) {
  const Call call = call_of({"data", "prepare", "in", "--out", "x"});
  EXPECT_EQ(call.name(), "data prepare");
  EXPECT_EQ(call.words, (Words{"in", "--out", "x"}));
  EXPECT_EQ(call_of({"train", "data"}).words, (Words{"data"}));
  EXPECT_EQ(refusal({"trian"}), "unknown verb 'trian'; did you mean 'train'? See troika --help.");
  EXPECT_EQ(refusal({"qqqqqqqqq"}), "unknown verb 'qqqqqqqqq'. See troika --help.");
  EXPECT_EQ(refusal({"--zero", "plan"}),
            "the flag --zero precedes the verb: flags follow the verb. See troika --help.");
  EXPECT_EQ(refusal({"bench", "steps"}), "unknown verb 'steps'; did you mean 'step'? See troika bench --help.");
  EXPECT_EQ(refusal({"bench"}), "troika bench needs one of kernels, step, comm, roofline; see troika bench --help");
}

TEST(Verbs, TheLanguageIsAFlagOfEachWhereverItIs) {
  for (const Words& words : {Words{"--lang", "zh", "plan", "--gpus", "2"},
                             {"plan", "--lang=zh", "--gpus", "2"},
                             {"plan", "--gpus", "2", "--lang", "zh"}}) {
    const Call call = call_of(words);
    EXPECT_EQ(call.language, base::Language::chinese);
    EXPECT_EQ(call.words, (Words{"--gpus", "2"}));
  }
  EXPECT_EQ(call_of({"launch", "--", "train", "--lang", "zh"}).language, english);
  for (const Words& command : commands()) {
    if (command.front() == "help") continue;  // gives the overview
    EXPECT_THAT(help_for(with(command, "--help"), english), HasSubstr("  --lang en|zh|auto\n"));
  }
}

TEST(Verbs, HelpIsInTheLanguageOfTheCall) {
  EXPECT_THAT(help_for({"train", "--help"}, base::Language::chinese),
              AllOf(HasSubstr("transformer 层数。"), Not(HasSubstr("Transformer layers."))));
  EXPECT_THAT(help_for({"help", "plan"}, english), Not(HasSubstr("。")));
}

TEST(Verbs, TheHelpOfEachNamesItsFlags) {
  for (const Words& command : commands()) {
    if (command.front() == "help") continue;  // gives the overview
    const Words asking = with(command, "--help");
    ASSERT_TRUE(asks_for_help(asking)) << command.front();
    const std::string page = help_for(asking, english);
    EXPECT_THAT(page, AllOf(StartsWith("troika " + command.front()), HasSubstr("usage: troika"), HasSubstr("--help")));
    const config::FlagTable table = call_of(command).last().flags();
    for (const config::FlagRow& row : table.rows()) EXPECT_THAT(page, HasSubstr(row.flag->flag()));
    Words by_name{"help"};
    by_name.insert(by_name.end(), command.begin(), command.end());
    EXPECT_EQ(help_for(by_name, english), page);
  }
}

TEST(Verbs, TheOverviewNamesAll) {
  for (const Verb& verb : verbs()) EXPECT_THAT(overview(english), HasSubstr("\n  " + std::string(verb.name) + " "));
  for (const Words& asking : {Words{"help"}, Words{"--help"}, Words{"-h"}})
    EXPECT_EQ(help_for(asking, english), overview(english));
  EXPECT_THAT(help_for({"data", "--help"}, english), AllOf(HasSubstr("  prepare "), HasSubstr("  decode ")));
  EXPECT_THROW(help_for({"help", "trian"}, english), base::ConfigError);
}

TEST(Verbs, HelpIsAskedForByAFlagAndNotByAValueOrARank) {
  EXPECT_TRUE(asks_for_help({"generate", "--nonsense", "-h"}));
  EXPECT_FALSE(asks_for_help({"generate", "run", "--prompt", "--help"}));
  EXPECT_FALSE(asks_for_help({"launch", "--", "train", "--help"}));
  EXPECT_TRUE(asks_for_help({"launch", "--nnodes", "2", "--help"}));
  EXPECT_TRUE(asks_for_help({"eval", "run", "--pp", "2", "--json", "--help"}));
}

TEST(Verbs, AMisspelledFlagOfEachIsToldWithTheNearestAndNeverWithItsValue) {
  for (const Words& command : commands()) {
    const config::FlagReading reading = read_with_flags_of(call_of(command).last(), {"--hepl", "geheim"});
    const std::string text = base::lines(reading.errors).english;
    EXPECT_THAT(text, AllOf(HasSubstr("unknown flag --hepl; did you mean --help?"), Not(HasSubstr("geheim"))));
  }
}

TEST(Verbs, NoFlagOfAVerbThatTakesSettingsMeansASettingToo) {
  config::SettingsReading scratch;
  const config::FlagTable settings = settings_table(scratch);
  for (const Words& command : commands()) {
    const config::FlagTable own = call_of(command).last().flags();
    if (!own.takes_settings()) continue;
    for (const config::FlagRow& row : own.rows()) EXPECT_EQ(settings.find(row.flag->name), nullptr) << row.flag->name;
  }
}

TEST(Verbs, NoNameMeansTwoFlagsOfOneVerb) {
  for (const Words& command : commands()) {
    std::set<std::string> seen;
    const config::FlagTable own = call_of(command).last().flags();
    for (const config::FlagRow& row : own.rows()) {
      EXPECT_TRUE(seen.insert(row.flag->flag()).second) << row.flag->name;
      for (const auto& names : {row.flag->flags, row.flag->familiar})
        for (const auto name : names) EXPECT_TRUE(seen.insert("--" + config::normalised(name)).second) << name;
    }
  }
}

TEST(Verbs, OwnFlagsStandAmongTheSettingsAndTheirErrorsTogether) {
  const EvalArguments a = parse_eval_arguments({"--pp", "2", "--json", "--logits=x.st", "--seq_len", "8"}, {});
  EXPECT_TRUE(a.json);
  EXPECT_EQ(a.logits, "x.st");
  EXPECT_EQ(a.parsed.settings.parallel.pp, 2);
  try {
    parse_eval_arguments({"--logits", "--jsn", "--pp", "two"}, {});
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("--logits needs a value"), HasSubstr("did you mean --json?"),
                                    HasSubstr("--pp: parallel.pp takes a whole number, not 'two'")));
  }
}

}  // namespace
}  // namespace troika::commands
