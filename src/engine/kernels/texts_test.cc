#include "kernels/texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"

namespace troika::kernels {
namespace {

TEST(AttentionTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(attention_texts)) EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::kernels
