#include "serve/refusal_texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"

namespace troika::serve {
namespace {

TEST(RefusalTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(refusal_texts))
    EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::serve
