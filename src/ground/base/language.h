// Sentences in the two languages that Troika speaks to its users in.
#pragma once

#include <string>
#include <string_view>

namespace troika::base {

enum class Language { english, chinese };

// One text in both, as format strings of fmt with the same arguments by position or by name.
struct Bilingual {
  std::string_view english, chinese;

  std::string_view in(Language language) const { return language == Language::english ? english : chinese; }
};

// A sentence in both, with its numbers filled in.
struct Text {
  std::string english, chinese;

  const std::string& in(Language language) const { return language == Language::english ? english : chinese; }
};

// The same in both: a flag, a command, what another program has said.
inline Text verbatim(std::string text) { return {text, text}; }

// The language that `--lang` asks for: "en", "zh", or "auto", which takes the locale's ("zh_CN.UTF-8": Chinese, others
// English). ConfigError for another word.
Language language_of(const std::string& word, const std::string& locale);

// The locale of messages in an environment: LC_ALL, else LC_MESSAGES, else LANG; "" where none is set.
template <class Environment>
std::string locale_in(const Environment& environment) {
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) return found->second;
  }
  return "";
}

// What is wrong with a pair, in one sentence: an empty text, a Chinese one without a Chinese character, other arguments in one
// than in the other. "" for a good one. For the tests of those who keep tables of texts.
std::string fault_of(const Bilingual& text);

}  // namespace troika::base
