// What is wrong with an adapter of PEFT, in both languages.
#pragma once

#include "base/language.h"

namespace troika::config {

struct PeftTexts {
  base::Bilingual no_object = {"{} is not a JSON object", "{} 不是 JSON 对象"};
  base::Bilingual not_supported = {"{} describes an adapter that is not supported:\n  {}",
                                   "{} 描述的适配器不受支持：\n  {}"};
  base::Bilingual ranks = {"an object of whole numbers from 1 to {:.0f} by the names of modules is needed",
                           "应为以模块名为键、值为 1 到 {:.0f} 的整数的对象"};
  base::Bilingual alphas = {"an object of numbers above 0 and at most {:.0f} by the names of modules is needed",
                            "应为以模块名为键、值大于 0 且不超过 {:.0f} 的数的对象"};
  base::Bilingual every_layer = {"adapters in every layer are supported", "只支持在每一层都有适配器"};
  base::Bilingual some_layers = {
      "{}: {} has an adapter in some layers and none in others (layer {}); adapters in every layer are supported",
      "{}：{} 只在部分层有适配器（第 {} 层没有）；只支持在每一层都有适配器"};
  base::Bilingual above_0 = {"a number above 0 is needed", "应为大于 0 的数"};
  base::Bilingual only_lora = {"only \"LORA\" is supported", "只支持 \"LORA\""};
  base::Bilingual no_expression = {"{} '{}' is not a regular expression that PCRE2 reads (at byte {})",
                                   "{} “{}”不是 PCRE2 能读取的正则表达式（第 {} 字节）"};
  base::Bilingual too_many_steps = {"{} '{}' takes more than {} steps on '{}'; name the modules in a list",
                                    "{} “{}”超过 {} 步（模块“{}”）；请用列表列出模块"};
  base::Bilingual no_modules = {"{}: {} is {}; names, a regular expression or \"all-linear\" belong there",
                                "{}：{} 为 {}；这里应为名称、正则表达式或 \"all-linear\""};
  base::Bilingual unknown = {
      "{} has {}: {}, which is not known here and is ignored; check that the adapter does not depend on it",
      "{} 中有 {}：{}，这里不认识它，已忽略；请确认该适配器不依赖它"};
  base::Bilingual whole_model = {
      "'{}' is a whole model; name an adapter: a folder with adapter_config.json, or a run with lora.rank",
      "“{}”是完整的模型；请指定适配器：含 adapter_config.json 的目录，或设置了 lora.rank 的运行"};
  base::Bilingual no_adapter = {
      "'{}' holds no adapter: neither adapter_config.json, nor a checkpoint of a run with lora.rank",
      "“{}”中没有适配器：既没有 adapter_config.json，也没有设置了 lora.rank 的运行的检查点"};
};
inline constexpr PeftTexts peft_texts{};

}  // namespace troika::config
