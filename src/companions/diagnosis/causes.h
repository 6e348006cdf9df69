// The words for causes, with what they mean in one sentence. Documented in docs/formats/causes.md.
#pragma once

#include <string_view>
#include <vector>

#include "base/language.h"

namespace troika::diagnosis {

struct Cause {
  std::string_view word;
  base::Phrase sentence;
};

const std::vector<Cause>& causes();  // "none" is the first

base::Phrase sentence_of(std::string_view word);  // BugError for a word that is none

}  // namespace troika::diagnosis
