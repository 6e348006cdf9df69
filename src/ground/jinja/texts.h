// What is wrong with a template, in both languages. What the template's language itself objects to is quoted in English, as its
// documentation has it.
#pragma once

#include "base/language.h"

namespace troika::jinja {

struct TemplateTexts {
  base::Bilingual unusable = {"{} line {}: {}", "{} 第 {} 行，模板无法使用：{}"};
  base::Bilingual too_large = {"{} has {} bytes; a template has at most {}: is it the right file?",
                               "{} 有 {} 字节；模板最多 {} 字节：是否给错了文件？"};
  base::Bilingual not_utf8 = {"{} is not valid UTF-8", "{} 不是有效的 UTF-8"};
};
inline constexpr TemplateTexts template_texts{};

}  // namespace troika::jinja
