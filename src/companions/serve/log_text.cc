#include "serve/log_text.h"

#include <algorithm>

#include "base/terminal_text.h"
#include "base/text.h"

namespace troika::serve {
namespace {

constexpr char escape = '\x1b', bell = '\x07';
constexpr std::string_view replacement = "\xef\xbf\xbd";

bool is_plain(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](unsigned char c) { return (c >= 0x20 && c < 0x7f) || c == '\t'; });
}

bool within(char c, unsigned char first, unsigned char last) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= first && byte <= last;
}

// Behind the sequence that an escape character at the front of `text` begins: ECMA-48, 5.3 to 5.6 and 8.3.
std::size_t escape_bytes(std::string_view text) {
  if (text.size() < 2) return 1;
  std::size_t at = 2;
  if (text[1] == '[') {
    while (at < text.size() && within(text[at], 0x20, 0x3f)) ++at;
    return at < text.size() && within(text[at], 0x40, 0x7e) ? at + 1 : at;
  }
  if (std::string_view("]PX^_").find(text[1]) != std::string_view::npos) {  // a string, to its end
    for (; at < text.size(); ++at) {
      if (text[at] == bell) return at + 1;
      if (text[at] == escape) return at + 1 < text.size() && text[at + 1] == '\\' ? at + 2 : at;
    }
    return at;
  }
  at = 1;
  while (at < text.size() && within(text[at], 0x20, 0x2f)) ++at;
  return at < text.size() && within(text[at], 0x30, 0x7e) ? at + 1 : at;
}

std::string_view last_overwritten(std::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::size_t at = line.rfind('\r');
  return at == std::string_view::npos ? line : line.substr(at + 1);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string shown_line(std::string_view line, std::size_t most_bytes) {
  constexpr std::string_view more = " ...";
  line = last_overwritten(line);
  if (line.size() <= most_bytes && is_plain(line)) return std::string(line);
  std::string shown;
  for (std::size_t at = 0; at < line.size();) {
    const std::string_view rest = line.substr(at);
    if (rest.front() == escape) {
      at += escape_bytes(rest);
      continue;
    }
    const std::size_t bytes = base::utf8_character_bytes(rest);
    const std::string_view character = bytes == 0 ? replacement : rest.substr(0, bytes);
    at += std::max<std::size_t>(bytes, 1);
    if (character == "\n" || !base::is_printable(character)) continue;
    if (shown.size() + character.size() > most_bytes) return shown.append(more);
    shown += character;
  }
  return shown;
}

LineSearch::LineSearch(std::string_view wanted) : wanted_(wanted) {
  std::transform(wanted_.begin(), wanted_.end(), wanted_.begin(), lower);
}

bool LineSearch::found_in(std::string_view line) const {
  if (wanted_.empty()) return true;
  const auto same = [](char a, char b) { return lower(a) == b; };
  return std::search(line.begin(), line.end(), wanted_.begin(), wanted_.end(), same) != line.end();
}

}  // namespace troika::serve
