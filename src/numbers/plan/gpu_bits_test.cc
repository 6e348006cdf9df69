#include "plan/gpu_bits.h"

#include <gmock/gmock.h>

#include "config/presets.h"

namespace troika::plan {
namespace {
using testing::HasSubstr;

config::Settings of_preset(const std::string& name) {
  config::Settings s;
  s.model = config::find_preset(name);
  return s;
}

TEST(GpuBits, OfUsualModelsEveryOperationRepeatsItself) {
  for (const char* preset : {"qwen3-0.6b", "qwen3-8b", "gpt2-124m", "bench-35m"})
    EXPECT_EQ(unequal_operation(of_preset(preset)), "") << preset;
  config::Settings adapted = of_preset("qwen3-0.6b");
  adapted.lora.rank = 8;
  EXPECT_EQ(unequal_operation(adapted), "");
}

TEST(GpuBits, AParameterThatBeginsBetweenSixteenBytesIsNamed) {
  config::Settings s = of_preset("gpt2-124m");
  s.model.hidden = 12;
  s.model.heads = s.model.kv_heads = 1;
  s.model.head_dim = 12;
  s.model.vocab = 57;  // 57 x 12 elements before the positions
  EXPECT_THAT(unequal_operation(s), HasSubstr("does not begin on 16 bytes"));
}

}  // namespace
}  // namespace troika::plan
