#include "base/json_texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"

namespace troika::base {
namespace {

TEST(JsonTexts, AreGoodInBothLanguages) {
  for (const Bilingual& text : every_text_of(json_texts)) EXPECT_EQ(fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::base
