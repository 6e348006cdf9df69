#include "machine/texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"

namespace troika::machine {
namespace {

TEST(MachineTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(machine_texts))
    EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::machine
