#include "comm/texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"

namespace troika::comm {
namespace {

TEST(CommTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(comm_texts)) EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::comm
