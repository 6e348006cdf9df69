// What is wrong with the shape of a model, in both languages.
#pragma once

#include "base/language.h"

namespace troika::shape {

struct ShapeTexts {
  base::Bilingual too_many_parts = {
      "tensor parallelism of {} ranks needs as many query heads, feed-forward columns and tokens in the vocabulary; "
      "the "
      "model has {}, {} and {}",
      "{} 个 rank 的张量并行至少需要同样多的查询头、前馈层列数和词表 token；该模型分别有 {}、{} 和 {}"};
  base::Bilingual no_projection = {"lora.targets names {}, but layers of model.architecture {} have no such projection",
                                   "lora.targets 中有 {}，但 model.architecture {} 的层没有这个投影"};
};
inline constexpr ShapeTexts shape_texts{};

}  // namespace troika::shape
