// A sentence in both languages, with its numbers filled in.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/language.h"

namespace troika::diagnosis {

struct Text {
  std::string english, chinese;

  const std::string& in(base::Language language) const {
    return language == base::Language::english ? english : chinese;
  }
};

// The arguments are alike in both.
template <class... Arguments>
Text say(const base::Bilingual& text, const Arguments&... arguments) {
  return {fmt::format(fmt::runtime(text.english), arguments...), fmt::format(fmt::runtime(text.chinese), arguments...)};
}

// The same in both: a flag, a command, what another program has said.
inline Text verbatim(std::string text) { return {text, text}; }

}  // namespace troika::diagnosis
