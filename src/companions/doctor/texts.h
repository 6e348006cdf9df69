// Everything that the doctor says, in English and in Chinese.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/counted.h"
#include "base/language.h"
#include "base/say.h"
#include "doctor/text_list.h"

namespace troika::doctor {

#define TROIKA_DOCTOR_NAME(name, english, chinese) name,
enum class Text { TROIKA_DOCTOR_TEXTS(TROIKA_DOCTOR_NAME) };
#undef TROIKA_DOCTOR_NAME

base::Bilingual bilingual(Text text);
std::vector<base::Bilingual> all_texts();  // for the test that looks for a missing one

// A text with its values in place, in both languages: which one is wanted is known where it is shown, on another host maybe.
struct Told {
  std::string english, chinese;

  const std::string& in(base::Language language) const {
    return language == base::Language::english ? english : chinese;
  }
  bool empty() const { return english.empty(); }
};

// "1 host", "3 hosts"; the number alone in Chinese, where the text has the noun.
inline base::Text counted(std::string_view number, std::string_view noun) {
  return {fmt::format("{} {}", number, base::noun_of(number == "1" ? 1 : 0, noun)), std::string(number)};
}
inline base::Text counted(std::int64_t number, std::string_view noun) { return base::counted_text(number, noun); }

// A value may be a base::Text, of which each language takes its own.
template <class... Values>
Told tell(Text text, const Values&... values) {
  const base::Text said = base::say(bilingual(text), values...);
  return {said.english, said.chinese};
}

inline Told plain(const std::string& text) { return {text, text}; }  // figures and names, alike in both

}  // namespace troika::doctor
