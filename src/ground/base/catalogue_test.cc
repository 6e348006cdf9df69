#include "base/catalogue.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "base/translation_test_support.h"

namespace troika::base {
namespace {

using testing::HasSubstr;

// A line of names alone, as of flags: "[--out FILE]", "bash|zsh|fish", "comm.join_seconds".
bool has_names_alone(const std::string& english) {
  for (const std::string& word : split(english, ' ')) {
    const bool plain = word.size() > 1 && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos;
    if (plain && english != "troika" && english != "none") return false;
  }
  return true;
}

// Without {places} and escapes: "{}: {}" has none.
bool has_words(const std::string& english) {
  bool outside = true;
  for (const char c : english) {
    if (c == '{') outside = false;
    if (outside && std::isalpha(static_cast<unsigned char>(c)) != 0) return true;
    if (c == '}') outside = true;
  }
  return false;
}

TEST(Catalogue, HoldsGoodTranslations) {
  EXPECT_GT(chinese_catalogue().size(), 1500u);
  for (const auto& [key, chinese] : chinese_catalogue()) {
    const std::string english = key.substr(key.find('\x04') + 1);
    if (english == chinese && has_names_alone(english)) continue;
    if (has_words(english))
      EXPECT_EQ(fault_of(english, chinese), "");
    else
      EXPECT_EQ(places_in(english), places_in(chinese)) << english;
  }
}

TEST(Catalogue, IsReadAsGettextWritesIt) {
  const Catalogue all = parse_catalogue(
      "msgid \"\"\nmsgstr \"\"\n\"Language: zh_CN\\n\"\n\n# a remark\nmsgid \"save\"\nmsgstr \"保存\"\n\nmsgctxt \"event\"\nmsgid \"save\"\n"
      "msgstr \"已保存\"\n\nmsgid \"\"\n\"two\\n\"\n\"\\\"lines\\\"\"\nmsgstr \"两行\"\n\n#, fuzzy\nmsgid \"old\"\nmsgstr \"旧\"\n\nmsgid \"none\"\n"
      "msgstr \"\"\n");
  EXPECT_EQ(all, (Catalogue{{"save", "保存"}, {std::string("event\x04save"), "已保存"}, {"two\n\"lines\"", "两行"}}));
  EXPECT_THROW(parse_catalogue("msgid \"a\"\nmsgstr[0] \"b\"\n"), BugError);
}

TEST(Catalogue, ASentenceThatItLacksStaysEnglish) {
  EXPECT_EQ(say("no such sentence {}", 1).chinese, "no such sentence 1");
  EXPECT_EQ(Phrase("save", "event").in(Language::chinese), "已保存");
  EXPECT_EQ(Phrase("save", "event").in(Language::english), "save");
}

TEST(Catalogue, FaultsOfAPairAreNamed) {
  EXPECT_EQ(fault_of("step {} of {}", "第 {} 步，共 {} 步"), "");
  EXPECT_EQ(fault_of("{rank} waits for {peer}", "{rank} 在等 {peer}"), "");
  EXPECT_THAT(fault_of("step {}", ""), HasSubstr("no Chinese text"));
  EXPECT_THAT(fault_of("", "步"), HasSubstr("no English text"));
  EXPECT_THAT(fault_of("step {}", "step {}"), HasSubstr("no Chinese character"));
  EXPECT_THAT(fault_of("step {} of {}", "第 {} 步"), HasSubstr("other values"));
  EXPECT_THAT(fault_of("{rank} waits", "{peer} 在等"), HasSubstr("other values"));
}

}  // namespace
}  // namespace troika::base
