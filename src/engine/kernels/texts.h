// Why a device computes attention by products in chunks although its library would take its sizes, in both languages.
#pragma once

#include "base/language.h"

namespace troika::kernels {

struct AttentionTexts {
  base::Bilingual documents = {"the library is not asked for documents that are apart within a sequence",
                               "序列中的文档相互分隔时不使用注意力库"};
  base::Bilingual groups = {"the library is not asked for {} query heads that read {} key/value heads in unequal groups",
                            "{} 个查询头读取 {} 个键值头而分组不等时不使用注意力库"};
  base::Bilingual blind = {"the library is not asked for a part of a context in which some of {} queries see none of {} keys",
                           "上下文的一部分中，{} 个查询里有的看不到 {} 个键中的任何一个时，不使用注意力库"};
};
inline constexpr AttentionTexts attention_texts;

}  // namespace troika::kernels
