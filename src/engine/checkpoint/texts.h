// What is wrong with a checkpoint's manifest, in both languages.
#pragma once

#include "base/language.h"

namespace troika::checkpoint {

struct ManifestTexts {
  base::Bilingual damaged = {"{}: damaged, its own hash differs", "{}：已损坏，其自身的哈希值不符"};
  base::Bilingual out_of_bounds = {"{}: '{}' is {}, which is not from {} to {}: the file is damaged, use another checkpoint",
                                   "{}：“{}”为 {}，不在 {} 至 {} 之间：文件已损坏，请使用其他检查点"};
  base::Bilingual no_manifest = {"{}: this is not the manifest of a checkpoint", "{}：这不是检查点的清单"};
  base::Bilingual other_version = {
      "{}: format version {} is not known (this program reads {}); use the program that wrote it",
      "{}：未知的格式版本 {}（本程序读取 {}）；请使用写出它的程序"};
  base::Bilingual no_part = {"{}: '{}' cannot be a part", "{}：“{}”不能作为检查点的一部分"};
};
inline constexpr ManifestTexts manifest_texts{};

}  // namespace troika::checkpoint
