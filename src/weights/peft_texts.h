// What is wrong with an adapter of PEFT, in both languages.
#pragma once

#include "base/language.h"

namespace troika::weights {

struct PeftTexts {
  base::Bilingual no_object = {"{} is not a JSON object", "{} 不是 JSON 对象"};
  base::Bilingual not_supported = {"{} describes an adapter that is not supported:\n  {}",
                                   "{} 描述的适配器不受支持：\n  {}"};
  base::Bilingual one_rank = {"one rank and one alpha for all projections are supported",
                              "所有投影只支持同一个秩和同一个 alpha"};
  base::Bilingual every_layer = {"adapters in every layer are supported", "只支持在每一层都有适配器"};
  base::Bilingual above_0 = {"a number above 0 is needed", "应为大于 0 的数"};
  base::Bilingual only_lora = {"only \"LORA\" is supported", "只支持 \"LORA\""};
};
inline constexpr PeftTexts peft_texts{};

}  // namespace troika::weights
