#include "shape/texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"

namespace troika::shape {
namespace {

TEST(ShapeTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(shape_texts))
    EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::shape
