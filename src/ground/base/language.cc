#include "base/language.h"

#include "base/catalogue.h"
#include "base/error.h"
#include "base/say.h"

namespace troika::base {

Language language_of(const std::string& word, const std::string& locale) {
  if (word == "en") return Language::english;
  if (word == "zh") return Language::chinese;
  if (word != "auto")
    throw ConfigError(say("--lang is en, zh or auto, not '{}'", word));
  return locale.rfind("zh", 0) == 0 ? Language::chinese : Language::english;
}

std::string_view Phrase::in(Language language) const {
  if (language == Language::english) return english_;
  const std::string key = context_.empty() ? std::string(english_) : std::string(context_).append("\x04").append(english_);
  const auto found = chinese_catalogue().find(key);
  return found == chinese_catalogue().end() ? std::string_view(english_) : std::string_view(found->second);
}

}  // namespace troika::base
