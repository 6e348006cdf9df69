#include "schedule/build/build_texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"

namespace troika::schedule {
namespace {

TEST(BuildTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(build_texts))
    EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::schedule
