// What is wrong with a file of settings, in both languages.
#pragma once

#include "base/language.h"

namespace troika::config {

struct YamlTexts {
  base::Bilingual too_large = {"{} has {} bytes, but settings have at most {}",
                               "{} 有 {} 字节，而设置文件最多 {} 字节"};
  base::Bilingual not_yaml = {"{} is not valid YAML: {}", "{} 不是有效的 YAML：{}"};
  base::Bilingual empty = {"{} is empty: it needs at least one section such as train:",
                           "{} 是空的：至少需要一节，如 train:"};
  base::Bilingual second_document = {
      "a second YAML document begins behind '---', and settings are one document: remove that line, or keep one of them",
      "“---”之后开始了第二个 YAML 文档，而设置只有一个文档：请删除该行，或只保留其中一个文档"};
  base::Bilingual sections = {"expected sections such as model: and train:, each with keys below it",
                              "应由 model:、train: 这样的节组成，各节之下有键"};
  base::Bilingual no_word = {"a key must be a word", "键必须是一个词"};
  base::Bilingual needs_keys = {"section {} needs keys below it", "节 {} 之下应有键"};
  base::Bilingual unknown = {"unknown key '{}'{}{}", "未知的键“{}”{}{}"};
  base::Bilingual in_section = {" in section {}", "（在节 {} 中）"};
  base::Bilingual truth = {"{} takes true or false", "{} 应为 true 或 false"};
  base::Bilingual twice = {"{} is given twice, first on line {}", "{} 给出了两次，第一次在第 {} 行"};
  base::Bilingual one_value_no_section = {"{} takes one value, not a section", "{} 只能有一个值，不能是一节"};
  base::Bilingual one_value_no_list = {"{} takes one value, not a list", "{} 只能有一个值，不能是列表"};
  base::Bilingual second_file = {"'{}' is a second configuration file beside '{}'; one is read",
                                 "“{}”是“{}”之外的第二个配置文件；只读取一个"};
};
inline constexpr YamlTexts yaml_texts{};

}  // namespace troika::config
