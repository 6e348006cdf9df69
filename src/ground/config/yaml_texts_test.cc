#include "config/yaml_texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"

namespace troika::config {
namespace {

TEST(YamlTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(yaml_texts))
    EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::config
