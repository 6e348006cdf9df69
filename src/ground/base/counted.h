// Nouns behind their numbers.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/language.h"

namespace troika::base {

// The noun alone: "file" for 1, else "files", or `many` where that is no "s".
inline std::string noun_of(std::int64_t number, std::string_view one, std::string_view many = "") {
  if (number == 1) return std::string(one);
  return many.empty() ? std::string(one) + "s" : std::string(many);
}

// "1 file", "3 files".
inline std::string counted(std::int64_t number, std::string_view one, std::string_view many = "") {
  return fmt::format("{} {}", number, noun_of(number, one, many));
}

// The same as a part of a text of both languages: the number alone in Chinese, where the text has the noun.
inline Text counted_text(std::int64_t number, std::string_view one, std::string_view many = "") {
  return {counted(number, one, many), std::to_string(number)};
}

}  // namespace troika::base
