#include "base/language.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/say.h"

namespace troika::base {

Language language_of(const std::string& word, const std::string& locale) {
  if (word == "en") return Language::english;
  if (word == "zh") return Language::chinese;
  if (word != "auto")
    throw ConfigError(say({"--lang is en, zh or auto, not '{}'", "--lang 应为 en、zh 或 auto，而不是“{}”"}, word));
  return locale.rfind("zh", 0) == 0 ? Language::chinese : Language::english;
}

namespace {

// "{}", "{name}", "{:.1f}" as they stand, sorted; "{{" is none.
std::vector<std::string> arguments_of(std::string_view text) {
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{') continue;
    if (i + 1 < text.size() && text[i + 1] == '{') {
      ++i;
      continue;
    }
    const std::size_t end = text.find('}', i);
    if (end == std::string_view::npos) break;
    arguments.emplace_back(text.substr(i, end - i + 1));
    i = end;
  }
  std::sort(arguments.begin(), arguments.end());
  return arguments;
}

// Looks for unified ideographs up to U+9FFF, which are three bytes from E4 on.
bool has_chinese(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0xe4 && byte <= 0xe9;
  });
}

}  // namespace

std::string fault_of(const Bilingual& text) {
  if (text.english.empty()) return fmt::format("'{}' has no English text", text.chinese);
  if (text.chinese.empty()) return fmt::format("'{}' has no Chinese text", text.english);
  if (!has_chinese(text.chinese)) return fmt::format("the Chinese text of '{}' has no Chinese character", text.english);
  if (arguments_of(text.english) != arguments_of(text.chinese))
    return fmt::format("'{}' has other arguments than '{}'", text.english, text.chinese);
  return "";
}

}  // namespace troika::base
