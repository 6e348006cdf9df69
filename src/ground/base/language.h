// Sentences in the two languages that Troika speaks to its users in.
#pragma once

#include <string>
#include <string_view>

namespace troika::base {

enum class Language { english, chinese };

// A sentence as the code has it: in English, often a format string of fmt. src/texts/zh.po has its Chinese, found by these words and,
// where one English word has several meanings, by the context as well. A sentence that is not there stays English; a test finds it.
class Phrase {
 public:
  explicit constexpr Phrase(std::string_view english, std::string_view context = "") : english_(english), context_(context) {}

  std::string_view in(Language language) const;
  constexpr std::string_view english() const { return english_; }

 private:
  std::string_view english_, context_;
};

// A sentence in both, with its numbers filled in.
struct Text {
  std::string english, chinese;

  const std::string& in(Language language) const { return language == Language::english ? english : chinese; }
  bool empty() const { return english.empty(); }
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

// The place of a value in its source, for messages: a path or a name, which is the same in both languages, or words. A parameter, which
// refers to what it was made of.
class Origin {
 public:
  Origin(const std::string& name) : english_(name), chinese_(name) {}  // NOLINT(google-explicit-constructor)
  Origin(const char* name) : english_(name), chinese_(name) {}         // NOLINT(google-explicit-constructor)
  Origin(const Text& words)
      : english_(words.english), chinese_(words.chinese) {}  // NOLINT(google-explicit-constructor)

  std::string_view in(Language language) const { return language == Language::english ? english_ : chinese_; }
  Text text() const { return {std::string(english_), std::string(chinese_)}; }

 private:
  std::string_view english_, chinese_;
};

}  // namespace troika::base
