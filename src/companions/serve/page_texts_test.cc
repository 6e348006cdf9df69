// The texts of the page: both languages have all of them, and the page's modules name no other
// text than there is and leave none unused.
//
// A module names a text by a literal, t('form.start'), or by a literal beginning: t(`state.${state}`) uses every text that begins with
// "state.". A key in a list or in a choice, t(fits ? 'a' : 'b'), counts where it is a literal of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/language.h"
#include "base/translation_test_support.h"
#include "config/fields.h"

namespace troika::serve {
namespace {

const char* const page_folder = TROIKA_SOURCE_DIR "/src/companions/serve/page";

// The name, and the switch of the language, which speaks the other one.
const std::set<std::string> without_chinese = {"troika", "nav.language", "nav.language_to"};
// Words that appear unchanged in Chinese texts (docs/guides/zh-CN).
const std::set<std::string> alike_words = {"rank", "Rank", "ranks", "Ranks", "tokens", "Tokens", "s", "loss"};

struct PageText {
  std::string english, chinese;
};

std::vector<std::string> files_of_page(const std::string& ending) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(page_folder)) {
    const std::string path = entry.path().string();
    if (entry.is_regular_file() && entry.path().extension() == ending && path.find("/vendor/") == std::string::npos)
      paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::map<std::string, PageText> texts_of_page() {
  std::map<std::string, PageText> texts;
  for (const std::string& path : files_of_page(".json")) {
    const auto file = nlohmann::json::parse(base::read_file(path));
    for (const auto& [key, text] : file.items()) {
      EXPECT_TRUE(text.is_object() && text.size() == 2 && text.contains("en") && text.contains("zh"))
          << path << " " << key;
      EXPECT_TRUE(texts.emplace(key, PageText{text.value("en", ""), text.value("zh", "")}).second)
          << key << " stands twice, the second time in " << path;
    }
  }
  return texts;
}

std::string without_comments(const std::string& script) {
  return std::regex_replace(script, std::regex("(^|\\n)\\s*//[^\\n]*"), "$1");
}

std::vector<std::string> found_in(const std::string& text, const char* pattern) {
  std::vector<std::string> found;
  const std::regex expression(pattern);
  for (auto match = std::sregex_iterator(text.begin(), text.end(), expression); match != std::sregex_iterator();
       ++match)
    for (std::size_t group = 1; group < match->size(); ++group) found.push_back((*match)[group].str());
  return found;
}

struct UsedTexts {
  std::map<std::string, std::string> named;    // whole keys that a text is asked for by, and the file
  std::map<std::string, std::string> begun;    // the same of beginnings: "state."
  std::set<std::string> literals, beginnings;  // of all literals, whatever they are for
};

UsedTexts used_in_page() {
  UsedTexts used;
  for (const std::string& path : files_of_page(".js")) {
    const std::string script = without_comments(base::read_file(path));
    for (const std::string& key : found_in(script, R"(\bt\(\s*'([^']+)')")) used.named[key] = path;
    for (const std::string& key : found_in(script, R"(\bt\([^()'`]*\?\s*'([^']+)'\s*:\s*'([^']+)')"))
      used.named[key] = path;
    for (const std::string& key : found_in(script, R"(\b(?:t|lookup)\(\s*`([\w.]+\.)\$\{)")) used.begun[key] = path;
    for (const std::string& key : found_in(script, R"(`([\w.]+\.)\$\{)")) used.beginnings.insert(key);
    for (const std::string& key : found_in(script, R"('([\w.]+)')")) used.literals.insert(key);
  }
  return used;
}

bool begins_with(const std::string& text, const std::string& beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

bool has_alike_words_only(const std::string& english) {
  const auto words = found_in(std::regex_replace(english, std::regex(R"(\{\w+\})"), ""), R"(([A-Za-z]+))");
  return std::all_of(words.begin(), words.end(), [](const std::string& word) { return alike_words.count(word) > 0; });
}

// A text without any words of its own may be without Chinese, but not without the same places.
std::string fault_of_page_text(const PageText& text) {
  const std::string chinese =
      text.chinese.empty() || !has_alike_words_only(text.english) ? text.chinese : text.chinese + "字";
  return base::fault_of(text.english, chinese);
}

TEST(PageTexts, AreInBothLanguagesWithTheSamePlaces) {
  const auto texts = texts_of_page();
  EXPECT_GT(texts.size(), 300u);
  for (const auto& [key, text] : texts) {
    if (without_chinese.count(key) > 0) continue;
    EXPECT_EQ(fault_of_page_text(text), "") << key;
  }
}

TEST(PageTexts, OfLabelsAndUnitsAreOfSettings) {
  std::set<std::string> keys, units;
  for (const config::Field& field : config::fields()) {
    keys.insert(field.key());
    if (!field.unit.empty()) units.insert(std::string(field.unit));
  }
  const auto texts = texts_of_page();
  for (const std::string& unit : units) EXPECT_EQ(texts.count("unit." + unit), 1u) << unit;
  for (const auto& [key, text] : texts) {
    for (const std::string beginning : {"form.label.", "form.help.", "form.missing."})
      EXPECT_TRUE(!begins_with(key, beginning) || keys.count(key.substr(beginning.size())) > 0)
          << key << " is of no setting";
    EXPECT_TRUE(!begins_with(key, "unit.") || units.count(key.substr(5)) > 0) << key << " is no unit";
  }
}

TEST(PageTexts, ThatModulesNameAreThere) {
  const auto texts = texts_of_page();
  const UsedTexts used = used_in_page();
  EXPECT_GT(used.named.size(), 100u);
  for (const auto& [key, path] : used.named) EXPECT_EQ(texts.count(key), 1u) << path << " names " << key;
  for (const auto& [beginning, path] : used.begun) {
    const auto first = texts.lower_bound(beginning);
    EXPECT_TRUE(first != texts.end() && begins_with(first->first, beginning))
        << path << ": no text begins with " << beginning;
  }
}

TEST(PageTexts, AreAllUsed) {
  const UsedTexts used = used_in_page();
  for (const auto& [key, text] : texts_of_page()) {
    const bool is_begun =
        std::any_of(used.beginnings.begin(), used.beginnings.end(),
                    [&, &key = key](const std::string& beginning) { return begins_with(key, beginning); });
    EXPECT_TRUE(is_begun || used.literals.count(key) > 0) << key << " is used nowhere";
  }
}

}  // namespace
}  // namespace troika::serve
