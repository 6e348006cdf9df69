#include "commands/entry_points.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "diagnosis/advice.h"
#include "launch/flags.h"
#include "records/event.h"

namespace troika::commands {
namespace {

using testing::HasSubstr;

std::string run_without_disk() {
  const std::string folder = base::temporary_folder() + "/run";
  records::Event event;
  event.time = 1000;
  event.kind = records::EventKind::failure;
  event.text = "rank 0 (host pi0, pid 7) failed: cannot write 'x': No space left on device";
  event.numbers["exit_code"] = 3;
  base::make_directories(folder);
  base::write_file_atomic(folder + "/events.jsonl", records::to_json(event) + "\n");
  return folder;
}

std::string report(const Words& words, const config::Environment& environment = {}) {
  Words all = {"why"};
  all.insert(all.end(), words.begin(), words.end());
  return why_report(call_of(all, environment));
}

TEST(Why, SaysCauseEvidenceAndAdvice) {
  const std::string text = report({run_without_disk()});
  EXPECT_THAT(text, HasSubstr("(disk_full)"));
  EXPECT_THAT(text, HasSubstr("No space left on device"));
  EXPECT_THAT(text, HasSubstr("--out"));
}

TEST(Why, SpeaksTheLanguageThatIsAskedForOrThatOfTheLocale) {
  EXPECT_THAT(report({run_without_disk(), "--lang", "zh"}), HasSubstr("磁盘已满"));
  EXPECT_THAT(report({run_without_disk()}, {{"LANG", "zh_CN.UTF-8"}}), HasSubstr("磁盘已满"));
  EXPECT_THAT(report({run_without_disk(), "--lang", "en"}, {{"LANG", "zh_CN.UTF-8"}}), HasSubstr("a disk is full"));
  EXPECT_THROW(report({run_without_disk(), "--lang", "fr"}), base::ConfigError);
}

TEST(Why, PrintsOneJsonObject) {
  const auto json = nlohmann::json::parse(report({run_without_disk(), "--json"}));
  EXPECT_EQ(json.at("cause"), "disk_full");
  EXPECT_FALSE(json.at("evidence").empty());
  EXPECT_TRUE(json.at("advice").at(0).contains("flag") && json.at("advice").at(0).contains("reason"));
}

TEST(Why, RefusesAFolderThatIsNoRun) {
  EXPECT_THROW(report({base::temporary_folder() + "/nothing"}), base::ConfigError);
  EXPECT_THROW(report({base::temporary_folder()}), base::ConfigError);
  EXPECT_THROW(report({}), base::ConfigError);
}

TEST(Why, OfAFolderWithARunBelowItNamesThatRun) {
  const std::string above = base::temporary_folder();
  base::make_directories(above + "/run");
  base::write_file_atomic(above + "/run/metrics.jsonl", "");
  try {
    report({above});
    FAIL() << "there is no run in it";
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("holds no records of a run"));
    EXPECT_THAT(error.what(), HasSubstr("'" + above + "/run'"));
  }
}

TEST(Why, FlagsOfTheLauncherThatAreAdvisedExist) {
  launch::LaunchFlags flags;
  const config::FlagTable table = launch::launch_flags(flags);
  for (const std::string_view name : words_of(diagnosis::LaunchFlag{})) EXPECT_NE(table.find(name), nullptr) << name;
}

}  // namespace
}  // namespace troika::commands
