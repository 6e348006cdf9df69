#include "config/import/import_texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"
#include "config/import/llama_factory_keys.h"

namespace troika::config {
namespace {

TEST(ImportTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(import_texts))
    EXPECT_EQ(base::fault_of(text), "") << text.english;
}

TEST(ImportTexts, OfEveryRefusedKeyAreGoodInBothLanguages) {
  for (const LlamaFactoryKey& key : llama_factory_keys()) {
    if (key.meaning == LlamaFactoryKey::Meaning::refused) {
      EXPECT_EQ(base::fault_of({key.text, key.chinese}), "") << key.name;
    }
  }
}

}  // namespace
}  // namespace troika::config
