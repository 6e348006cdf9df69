// What is wrong with a file of a run, in both languages.
#pragma once

#include "base/language.h"

namespace troika::base {

struct RunFileTexts {
  // With the path.
  Bilingual link = {"'{}' is a link, and no link inside a run's folder is followed: remove it",
                    "“{}”是一个链接，而运行目录中的链接一律不跟随：请删除它"};
  Bilingual irregular = {"'{}' is a pipe, a folder or a device, not a regular file: remove it or name another",
                         "“{}”是管道、目录或设备，不是普通文件：请删除它或指定其他文件"};
  // With the path, its size and the limit.
  Bilingual large = {"'{}' has {}, more than the {} that are read of such a file: it is damaged or not what it is named",
                     "“{}”有 {}，超过了此类文件可读取的 {}：文件已损坏，或与名称不符"};
};
inline constexpr RunFileTexts run_file_texts{};

}  // namespace troika::base
