#include "planner/plan_texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"

namespace troika::planner {
namespace {

TEST(PlanTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(plan_texts))
    EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::planner
