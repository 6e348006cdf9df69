// Why a step has no program, in both languages.
#pragma once

#include "base/language.h"

namespace troika::schedule {

struct BuildTexts {
  base::Bilingual one_stage = {
      "schedule {} has one stage per pp rank, not {}; choose schedule interleaved or virtual_stages 1",
      "schedule {} 每个 pp rank 只有一个阶段，而不是 {} 个；请选用 schedule interleaved 或 virtual_stages 1"};
  base::Bilingual several_stages = {
      "schedule {} needs pp 2 or more and virtual_stages 2 or more, not {} and {}; choose those or schedule 1f1b",
      "schedule {} 要求 pp 和 virtual_stages 都至少为 2，而不是 {} 和 {}；请这样设置，或选用 schedule 1f1b"};
  base::Bilingual below_1 = {"pp {}, dp {} and virtual_stages {} must be at least 1",
                             "pp {}、dp {} 和 virtual_stages {} 都至少应为 1"};
  base::Bilingual uneven = {"{} microbatches cannot be shared evenly by dp {}; nearest that works is {}",
                            "{} 个微批不能平均分给 dp {}；最接近的可行值是 {}"};
  base::Bilingual too_many_stages = {"{} stages are more than {}; lower pp", "{} 个阶段超过了 {} 个；请减小 pp"};
  base::Bilingual wrong_shape = {"shape of a step: {}", "一步的形状有误：{}"};
  base::Bilingual other_segments = {"bytes are given for {} segments, but the stages have {}",
                                    "给出了 {} 段的字节数，但各阶段共有 {} 段"};

  // Of cutting a model into stages.
  base::Bilingual uncut = {
      "a model of {} transformer layers cannot be cut into {} pipeline stages; choose pp from 1 to {}",
      "{} 个 transformer 层的模型不能切分为 {} 个流水线阶段；请将 pp 设为 1 到 {}"};
  base::Bilingual negative_layers = {"stage {} is given {} transformer layers; give 0 or more",
                                     "阶段 {} 被分到 {} 个 transformer 层；应为 0 或更多"};
  base::Bilingual other_sum = {"the layers per stage add up to {}, but the model has {} transformer layers",
                               "各阶段的层数之和为 {}，但模型有 {} 个 transformer 层"};
  base::Bilingual empty_stage = {"stage {} would be empty; give it at least one transformer layer",
                                 "阶段 {} 会是空的；请至少给它一个 transformer 层"};
};
inline constexpr BuildTexts build_texts{};

}  // namespace troika::schedule
