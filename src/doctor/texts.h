// Everything that the doctor says, in English and in Chinese.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/language.h"
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

template <class... Values>
Told tell(Text text, const Values&... values) {
  const base::Bilingual both = bilingual(text);
  return {fmt::format(fmt::runtime(both.english), values...), fmt::format(fmt::runtime(both.chinese), values...)};
}

inline Told plain(const std::string& text) { return {text, text}; }  // figures and names, alike in both

}  // namespace troika::doctor
