// Help and the settings page as files. When one differs, the new text is written beside the build; read it, then copy it.
#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "config/config.h"
#include "config/fields.h"
#include "config/import/llama_factory.h"

namespace troika::config {
namespace {

void expect_file(const std::string& path, const std::string& text) {
  const std::string expected = base::file_exists(path) ? base::read_file(path) : "";
  if (text == expected) return;
  const std::string fresh = std::string(TROIKA_BINARY_DIR) + "/" + path.substr(path.rfind('/') + 1);
  base::write_file_atomic(fresh, text);
  FAIL() << path << " differs from what is printed now, which stands in " << fresh;
}

TEST(SettingsText, TheHelpIsTheGoldenFile) {
  expect_file(std::string(TROIKA_SOURCE_DIR) + "/src/ground/config/golden/help.txt",
              settings_help(base::Language::english));
}

TEST(SettingsText, TheSettingsPageIsPrintedFromTheTable) {
  expect_file(std::string(TROIKA_SOURCE_DIR) + "/docs/settings.md", settings_markdown());
}

TEST(SettingsText, ThePageOfLlamaFactorysKeysIsPrintedFromItsTable) {
  expect_file(std::string(TROIKA_SOURCE_DIR) + "/docs/llama-factory.md", llama_factory_markdown());
}

TEST(SettingsText, TheDefaultsAsYamlAreTheGoldenFile) {
  expect_file(std::string(TROIKA_SOURCE_DIR) + "/src/ground/config/golden/defaults.yaml", to_yaml(Settings{}));
}

TEST(SettingsText, SomeKeysAreTheirLinesOfTheWhole) {
  Settings settings;
  settings.train.steps = 5;
  settings.data.train = "a b";
  EXPECT_EQ(to_yaml(settings, {"train.steps", "data.train"}), "data:\n  train: \"a b\"\ntrain:\n  steps: 5\n");
  EXPECT_EQ(to_yaml(settings, {}), "");
}

TEST(SettingsText, HelpAndPageNameEverySetting) {
  const std::string help = settings_help(base::Language::english);
  const std::string page = settings_markdown();
  for (const auto& field : fields()) {
    EXPECT_NE(help.find(field.flag()), std::string::npos) << field.key();
    EXPECT_NE(page.find("`" + field.flag() + "`"), std::string::npos) << field.key();
  }
}

}  // namespace
}  // namespace troika::config
