// Fills numbers into a text of both languages, and puts nouns behind numbers.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/language.h"

namespace troika::base {

template <class T>
const T& part_in(Language, const T& value) {
  return value;
}
inline const std::string& part_in(Language language, const Text& part) { return part.in(language); }
inline std::string_view part_in(Language language, const Origin& part) { return part.in(language); }

// The arguments are equal in both, but for one that is a Text itself: of that each language takes its own.
template <class... Arguments>
Text say(Phrase text, const Arguments&... arguments) {
  return {fmt::format(fmt::runtime(text.in(Language::english)), part_in(Language::english, arguments)...),
          fmt::format(fmt::runtime(text.in(Language::chinese)), part_in(Language::chinese, arguments)...)};
}
template <class... Arguments>
Text say(const char* english, const Arguments&... arguments) {
  return say(Phrase(english), arguments...);
}

// The end of an English word that other languages do not have: {"s", ""}.
inline Text in_english_only(std::string_view ending) { return {std::string(ending), ""}; }

// The message of an error, as a part of another sentence.
inline Text text_of(const Error& error) { return {error.what(), error.in(Language::chinese)}; }

// All of them in one language.
inline std::vector<std::string> in(const std::vector<Text>& texts, Language language) {
  std::vector<std::string> chosen;
  for (const Text& text : texts) chosen.push_back(text.in(language));
  return chosen;
}

inline Text join(const std::vector<Text>& texts, std::string_view english, std::string_view chinese) {
  return {join(in(texts, Language::english), english), join(in(texts, Language::chinese), chinese)};
}
inline Text lines(const std::vector<Text>& texts) { return join(texts, "\n", "\n"); }

// The same error, of a kind that may be made of a Text, with where it happened below its sentence.
template <class Kind>
Kind with_context(const Kind& error, const Text& where) {
  return Kind(lines({text_of(error), {"  " + where.english, "  " + where.chinese}}), error.cause());
}

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
