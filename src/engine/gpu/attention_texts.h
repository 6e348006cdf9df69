// What cuDNN's attention does not do, in both languages.
#pragma once

#include "base/language.h"

namespace troika::gpu {

struct AttentionTexts {
  base::Bilingual missing = {"cuDNN 9.10.2 or later is not found: pip install nvidia-cudnn-cu13 (or nvidia-cudnn-cu12)",
                             "未找到 cuDNN 9.10.2 或更高版本：请运行 pip install nvidia-cudnn-cu13（或 nvidia-cudnn-cu12）"};
  base::Bilingual too_old = {"'{}' is cuDNN {}, but 9.10.2 or later is needed", "“{}”是 cuDNN {}，但需要 9.10.2 或更高版本"};
  base::Bilingual dtype = {"cuDNN has no attention in {}", "cuDNN 没有 {} 的注意力"};
  base::Bilingual width = {"cuDNN takes head widths that are multiples of 8 up to {} on this GPU, not {}",
                           "在此 GPU 上，cuDNN 要求头宽为 8 的倍数且不超过 {}，而此处为 {}"};
  base::Bilingual keys = {"cuDNN before 9.15.1 takes multiples of 128 keys, not {}", "9.15.1 之前的 cuDNN 要求键数为 128 的倍数，而此处为 {}"};
  base::Bilingual order = {"cuDNN before 9.18 gives no equal bits twice on this GPU (--reproducible off does without them)",
                           "在此 GPU 上，9.18 之前的 cuDNN 不能两次得到逐位相同的结果（--reproducible off 不作此要求）"};
  base::Bilingual memory = {"cuDNN needs {} MiB for each head to give equal bits twice (--reproducible off does without them)",
                            "cuDNN 要两次得到逐位相同的结果，每个头需要 {} MiB（--reproducible off 不作此要求）"};
  base::Bilingual refused = {"cuDNN {} refuses {} queries and {} keys of {} and {} heads of width {} ({})",
                             "cuDNN {} 不接受 {} 个查询、{} 个键、{} 与 {} 个头、头宽 {}（{}）"};
};
inline constexpr AttentionTexts attention_texts;

}  // namespace troika::gpu
