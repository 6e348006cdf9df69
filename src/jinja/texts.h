// What is wrong with a template, in both languages. What the template's language itself objects to is quoted in English, as its
// documentation has it.
#pragma once

#include "base/language.h"

namespace troika::jinja {

struct TemplateTexts {
  base::Bilingual unusable = {"{} line {}: {}", "{} 第 {} 行，模板无法使用：{}"};
  base::Bilingual not_utf8 = {"{} is not valid UTF-8", "{} 不是有效的 UTF-8"};
};
inline constexpr TemplateTexts template_texts{};

}  // namespace troika::jinja
