#include "checkpoint/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"

namespace troika::checkpoint {

static Manifest example(const std::string& file) {
  Manifest manifest;
  manifest.facts = {100, "seed: 7\n", "{}", {{"tokens_seen", "5"}}};
  manifest.world_size = 3;
  manifest.parts = {{file, 123, "00112233aabbccdd", "pi0", {}}};
  return manifest;
}

TEST(Manifest, TextComesBack) {
  const Manifest back =
      manifest_from_text(manifest_to_text(example("model/model-00001-of-00001.safetensors")), "manifest.json");
  EXPECT_EQ(back.facts.step, 100);
  EXPECT_EQ(back.facts.settings_yaml, "seed: 7\n");
  EXPECT_EQ(back.facts.extra.at("tokens_seen"), "5");
  EXPECT_EQ(back.world_size, 3);
  ASSERT_EQ(back.parts.size(), 1U);
  EXPECT_EQ(back.parts[0].bytes, 123);
  EXPECT_EQ(back.parts[0].hash, "00112233aabbccdd");
  EXPECT_EQ(back.parts[0].host, "pi0");
}

TEST(Manifest, PartsOutsideTheFolderAreRefused) {
  for (const char* file :
       {"../x", "/etc/passwd", "model/../x", "model/", "x", "model/a/b", "other/x", "model/.x", "model/a b", ""})
    EXPECT_THROW(manifest_from_text(manifest_to_text(example(file)), "manifest.json"), base::DataError) << file;
}

TEST(Manifest, CountsThatNoRunHasAreRefusedByName) {
  const auto error_with = [](const std::function<void(Manifest*)>& change) -> std::string {
    Manifest manifest = example("model/x");
    change(&manifest);
    try {
      manifest_from_text(manifest_to_text(manifest), "manifest.json");
    } catch (const base::DataError& error) {
      return error.what();
    }
    return "";
  };
  using ::testing::HasSubstr;
  for (const std::int64_t bytes : {std::int64_t{-1}, std::int64_t{1} << 62})
    EXPECT_THAT(error_with([&](Manifest* m) { m->parts[0].bytes = bytes; }), HasSubstr("'bytes' is ")) << bytes;
  for (const std::int64_t step : {std::int64_t{-5}, std::int64_t{1} << 62})
    EXPECT_THAT(error_with([&](Manifest* m) { m->facts.step = step; }), HasSubstr("'step' is ")) << step;
  for (const std::int64_t ranks : {std::int64_t{0}, std::int64_t{1} << 40})
    EXPECT_THAT(error_with([&](Manifest* m) { m->world_size = ranks; }), HasSubstr("'world_size' is ")) << ranks;
  EXPECT_EQ(error_with([](Manifest* m) { m->facts.step = std::int64_t{1} << 40; }), "");
}

TEST(Manifest, AnyChangedCharacterIsNoticed) {
  const std::string text = manifest_to_text(example("state/x"));
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ' || text[i] == '\n') continue;  // white space between the values says nothing
    std::string changed = text;
    changed[i] = changed[i] == 'z' ? 'y' : 'z';
    EXPECT_THROW(manifest_from_text(changed, "manifest.json"), base::DataError) << i;
  }
}

TEST(Manifest, StepFolderNamesAreExact) {
  std::int64_t step = 0;
  EXPECT_EQ(step_folder_name(100), "step-00000100");
  EXPECT_TRUE(parse_step_folder_name("step-00000100", &step));
  EXPECT_EQ(step, 100);
  EXPECT_TRUE(parse_step_folder_name("step-1234567890", &step));
  for (const char* name :
       {"step-100", "step-", "step-0000010x", "step-00000100.partial", "stop-00000100", "step-000000100"})
    EXPECT_FALSE(parse_step_folder_name(name, &step)) << name;
}

}  // namespace troika::checkpoint
