#include "checkpoint/texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"

namespace troika::checkpoint {
namespace {

TEST(ManifestTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(manifest_texts))
    EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::checkpoint
