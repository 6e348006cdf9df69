// What is wrong with a command line, in both languages.
#pragma once

#include "base/language.h"

namespace troika::config {

struct FlagTexts {
  base::Bilingual one_dash = {"unknown flag {}: flags begin with two dashes", "未知的选项 {}：选项以两个连字符开头"};
  base::Bilingual unknown = {"unknown flag {}; --help lists all", "未知的选项 {}；--help 会列出所有选项"};
  base::Bilingual unknown_near = {"unknown flag {}; did you mean {}?", "未知的选项 {}；您是想写 {} 吗？"};
  base::Bilingual needs_value = {"{} needs a value", "{} 需要一个值"};
  base::Bilingual no_place = {"there is no place for '{}'; --help lists what may come here",
                              "这里不能写“{}”；--help 会列出这里可写的内容"};
  base::Bilingual behind_truth = {"there is no place for '{}'; {} takes true or false",
                                  "这里不能写“{}”；{} 应为 true 或 false"};
  base::Bilingual twice = {"{} {} and {} {} contradict each other: keep one of them",
                           "{} {} 与 {} {} 矛盾：请只保留一个"};
  base::Bilingual required = {"{0} needs {1}; see {0} --help", "{0} 需要 {1}；参见 {0} --help"};
};
inline constexpr FlagTexts flag_texts{};

}  // namespace troika::config
