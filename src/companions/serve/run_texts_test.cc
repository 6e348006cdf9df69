#include "serve/run_texts.h"

#include <gtest/gtest.h>

namespace troika::serve {
namespace {

TEST(RunTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : all_run_texts()) EXPECT_EQ(base::fault_of(text), "") << text.english;
  EXPECT_EQ(all_run_texts().size(), static_cast<std::size_t>(Say::answers_already) + 1);
  EXPECT_EQ(said(Say::no_checkpoint_of_step, "a", 5).english, "'a' has no complete checkpoint of step 5");
}

}  // namespace
}  // namespace troika::serve
