#include "base/file_texts.h"

#include <gtest/gtest.h>

#include "base/run_file_texts.h"
#include "base/text_table_test_support.h"

namespace troika::base {
namespace {

TEST(FileTexts, AreGoodInBothLanguages) {
  for (const Bilingual& text : every_text_of(file_texts)) EXPECT_EQ(fault_of(text), "") << text.english;
  for (const Bilingual& text : every_text_of(run_file_texts)) EXPECT_EQ(fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::base
