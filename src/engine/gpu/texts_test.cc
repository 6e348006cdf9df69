#include "gpu/texts.h"

#include <gtest/gtest.h>

#include "base/text_table_test_support.h"

namespace troika::gpu {
namespace {

TEST(GpuTexts, AreGoodInBothLanguages) {
  for (const base::Bilingual& text : base::every_text_of(gpu_texts)) EXPECT_EQ(base::fault_of(text), "") << text.english;
}

}  // namespace
}  // namespace troika::gpu
