// Why NCCL cannot be used, in both languages.
#pragma once

#include "base/language.h"

namespace troika::comm {

struct CommTexts {
  base::Bilingual nccl_remedy = {
      "install NCCL 2.28 or later into the active Python environment (pip install nvidia-nccl-cu13; torch 2.10 and later bring "
      "it), or let messages go over TCP (--comm.backend gloo)",
      "请在当前 Python 环境中安装 NCCL 2.28 及以上版本（pip install nvidia-nccl-cu13；torch 2.10 起自带），"
      "或让消息经 TCP 传递（--comm.backend gloo）"};
  base::Bilingual no_nccl_function = {"'{}' has no function {}: {}", "“{}”中没有函数 {}：{}"};
  base::Bilingual other_nccl = {"'{}' is NCCL {}, but versions from {} to 2.99 are needed: {}",
                                "“{}”是 NCCL {}，但需要 {} 到 2.99 的版本：{}"};
  base::Bilingual no_nccl = {"cannot load NCCL: {}: {}", "无法加载 NCCL：{}：{}"};
};
inline constexpr CommTexts comm_texts{};

}  // namespace troika::comm
