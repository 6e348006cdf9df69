// Texts in both languages, words and flags that exist.
#include "base/say.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "config/fields.h"
#include "diagnosis/advice.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/made_run_test_support.h"

namespace troika::diagnosis {
namespace {

TEST(Texts, EveryCauseHasASentenceAndAWordOfItsOwn) {
  std::set<std::string_view> words;
  for (const Cause& cause : causes()) {
    EXPECT_TRUE(words.insert(cause.word).second) << cause.word;
  }
}

TEST(Texts, EveryCauseIsInTheDocuments) {
  const std::string page = base::read_file(TROIKA_SOURCE_DIR "/docs/formats/causes.md");
  for (const Cause& cause : causes())
    EXPECT_NE(page.find("`" + std::string(cause.word) + "`"), std::string::npos) << cause.word;
}

// Those of `troika launch` are looked up by commands/why/why_test.cc.
TEST(Texts, SettingsThatAreAdvisedExistAndTakeTheirValues) {
  std::set<std::string> advised;
  const auto note = [&](const AdviceList& list) {
    for (const Advice& advice : list) advised.insert(advice.flag.english);
  };
  Facts facts;
  facts.ranks = 4;
  facts.settings = config::Settings{};
  facts.settings->batch.micro_batch_size = 8;
  facts.settings->data.valid_share = 0.1;
  note(less_memory(facts));
  note(gentler_steps(facts));
  note(roomier_disk(facts));
  for (const std::string& text : advised) {
    if (text.rfind("--", 0) != 0 || text.find(' ') == std::string::npos) continue;
    const std::string name = text.substr(2, text.find(' ') - 2), value = text.substr(text.find(' ') + 1);
    const config::Field* field = config::find_field(name);
    if (name == "out") continue;
    ASSERT_NE(field, nullptr) << text;
    config::Settings settings;
    EXPECT_FALSE(config::set_text(*field, value, &settings)) << text;
    EXPECT_FALSE(config::violation(*field, settings)) << text;
  }
}

TEST(Texts, ADiagnosisIsShownAsLinesAndAsJson) {
  MadeRun run;
  run.report(2, "port 29500 is held by 'python3' (pid 7): end it or choose another --master-port");
  const Diagnosis found = run.why();
  const std::string english = describe(found, base::Language::english),
                    chinese = describe(found, base::Language::chinese);
  EXPECT_NE(english.find("(port_in_use)"), std::string::npos);
  EXPECT_NE(english.find("--master-port 29600"), std::string::npos);
  EXPECT_NE(chinese.find("端口"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(found, base::Language::chinese));
  EXPECT_EQ(json.at("cause"), "port_in_use");
  EXPECT_EQ(json.size(), 3U);
  EXPECT_TRUE(json.at("evidence").is_array() && json.at("evidence").at(0).is_string());
  EXPECT_EQ(json.at("advice").at(0).at("flag"), "--master-port 29600");
  EXPECT_EQ(json.at("advice").at(0).size(), 2U);
}

TEST(Texts, AHealthyRunIsNoneWithoutAdvice) {
  MadeRun run;
  run.start();
  run.train(30);
  run.finish();
  const auto json = nlohmann::json::parse(to_json(run.why(), base::Language::english));
  EXPECT_EQ(json.at("cause"), "none");
  EXPECT_TRUE(json.at("advice").empty());
}

}  // namespace
}  // namespace troika::diagnosis
