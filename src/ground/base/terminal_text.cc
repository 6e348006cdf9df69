#include "base/terminal_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"

namespace troika::base {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

bool lies_in(std::string_view character, std::string_view first, std::string_view last) {
  return character >= first && character <= last;
}

// Bytes of the longest beginning of `text` that a valid character begins with; 0 where its first byte begins none.
std::size_t begun_bytes(std::string_view text) {
  for (std::size_t bytes = std::min<std::size_t>(text.size(), 3); bytes > 0; --bytes) {
    for (const char* next : {"\x80", "\x90", "\xA0"}) {  // one fits behind every first byte, the first behind others
      const std::string whole = std::string(text.substr(0, bytes)) + next + "\x80\x80";
      if (utf8_character_bytes(whole) > bytes) return bytes;
    }
  }
  return 0;
}

// Calls `piece` with each valid character, and with each piece that is none and an empty character.
template <class Piece>
void each_character(std::string_view bytes, Piece&& piece) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string_view rest = bytes.substr(at);
    const std::size_t whole = utf8_character_bytes(rest);
    piece(rest.substr(0, whole));
    at += whole > 0 ? whole : std::max<std::size_t>(begun_bytes(rest), 1);
  }
}

}  // namespace

bool is_printable(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return (lead >= 0x20 && lead != 0x7F) || lead == '\n' || lead == '\t';
  if (character.size() == 2) return character >= "\u00A0" && character != "\u061C";
  return !lies_in(character, "\u200E", "\u200F") && !lies_in(character, "\u2028", "\u202E") &&
         !lies_in(character, "\u2066", "\u2069");
}

std::string valid_utf8(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string text;
  each_character(bytes, [&](std::string_view character) { text += character.empty() ? replacement : character; });
  return text;
}

std::size_t unfinished_bytes(std::string_view text) {
  for (std::size_t back = std::min<std::size_t>(text.size(), 3); back > 0; --back)
    if (begun_bytes(text.substr(text.size() - back)) == back) return back;
  return 0;
}

std::string terminal_text(std::string_view bytes) {
  std::string text;
  each_character(bytes, [&](std::string_view character) {
    text += !character.empty() && is_printable(character) ? character : replacement;
  });
  return text;
}

std::string printable_json(std::string_view text_of_json) {
  std::string text;
  each_character(text_of_json, [&](std::string_view character) {
    if (character.empty() || is_printable(character)) {
      text += character.empty() ? replacement : character;
      return;
    }
    // All of them lie below U+10000, and those of one byte other than U+007F are escaped already.
    const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(character[i])); };
    const unsigned code = character.size() == 1   ? byte(0)
                          : character.size() == 2 ? (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F)
                                                  : (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    text += fmt::format("\\u{:04x}", code);
  });
  return text;
}

void put(std::string_view text, std::FILE* out) {
  const bool terminal = ::isatty(::fileno(out)) == 1;
  const std::string shown = terminal ? terminal_text(text) : std::string();
  const std::string_view written = terminal ? std::string_view(shown) : text;
  std::fwrite(written.data(), 1, written.size(), out);
}

}  // namespace troika::base
