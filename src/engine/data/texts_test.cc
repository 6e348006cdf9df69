#include "data/texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"
#include "data/conversation_texts.h"

namespace troika::data {
namespace {

TEST(DataTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(data_texts))
    EXPECT_EQ(base::fault_of(text), "") << text.english;
}

TEST(ConversationTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(conversation_texts))
    EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::data
