#include "commands/data/inspect_texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"

namespace troika::commands {
namespace {

TEST(InspectTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(inspect_texts))
    EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::commands
