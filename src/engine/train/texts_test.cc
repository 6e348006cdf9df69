#include "train/texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"

namespace troika::train {
namespace {

TEST(TrainTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(texts)) EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::train
