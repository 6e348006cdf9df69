// Finds the faults of a translation.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace troika::base {

// "{}", "{name}", "{:.1f}" as they are written, sorted; "{{" is none.
inline std::vector<std::string> places_in(std::string_view text) {
  std::vector<std::string> places;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{') continue;
    if (i + 1 < text.size() && text[i + 1] == '{') {
      ++i;
      continue;
    }
    const std::size_t end = text.find('}', i);
    if (end == std::string_view::npos) break;
    places.emplace_back(text.substr(i, end - i + 1));
    i = end;
  }
  std::sort(places.begin(), places.end());
  return places;
}

// Looks for unified ideographs up to U+9FFF, which are three bytes from E4 on.
inline bool has_chinese(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0xe4 && byte <= 0xe9;
  });
}

// In one sentence: an empty text, a Chinese one without a Chinese character, other places for values in one than in the other. "" for a
// good pair.
inline std::string fault_of(const std::string& english, const std::string& chinese) {
  if (english.empty()) return fmt::format("'{}' has no English text", chinese);
  if (chinese.empty()) return fmt::format("'{}' has no Chinese text", english);
  if (!has_chinese(chinese)) return fmt::format("the Chinese text of '{}' has no Chinese character", english);
  if (places_in(english) != places_in(chinese)) return fmt::format("'{}' has other values than '{}'", english, chinese);
  return "";
}

}  // namespace troika::base
