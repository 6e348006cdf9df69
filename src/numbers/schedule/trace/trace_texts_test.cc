#include <gtest/gtest.h>

#include "base/text_table_test_support.h"
#include "schedule/trace/texts.h"

namespace troika::schedule {
namespace {

TEST(TraceTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(trace_texts))
    EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::schedule
