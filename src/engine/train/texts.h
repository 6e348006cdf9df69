// What a run says of itself before its first step, in both languages.
#pragma once

#include "base/language.h"

namespace troika::train {

struct TrainTexts {
  base::Bilingual attention = {"note: attention is computed by products in chunks: {}", "提示：注意力用分块矩阵乘法计算：{}"};
};
inline constexpr TrainTexts texts;

}  // namespace troika::train
