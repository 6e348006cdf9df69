#include "base/terminal_text.h"

#include <fmt/format.h>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/say.h"
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

namespace {

std::uint8_t byte_at(std::string_view text, std::size_t at) { return static_cast<std::uint8_t>(text[at]); }

bool in_range(std::uint8_t byte, int first, int last) { return byte >= first && byte <= last; }

// Whether `rest` may be the beginning of one more character.
bool is_cut_character(std::string_view rest) {
  if (rest.size() > 3 || !in_range(byte_at(rest, 0), 0xC2, 0xF4)) return false;
  const std::uint8_t lead = byte_at(rest, 0);
  const std::size_t whole = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  return rest.size() < whole && std::all_of(rest.begin() + 1, rest.end(),
                                            [](char c) { return in_range(static_cast<std::uint8_t>(c), 0x80, 0xBF); });
}

struct Mark {
  std::string_view bytes;
  const char* name;
};

// UTF-32 first: its little-endian mark begins with that of UTF-16. iconv takes the byte order from the mark.
constexpr std::array<Mark, 4> marks = {{{{"\xFF\xFE\0\0", 4}, "UTF-32"},
                                        {{"\0\0\xFE\xFF", 4}, "UTF-32"},
                                        {{"\xFF\xFE", 2}, "UTF-16"},
                                        {{"\xFE\xFF", 2}, "UTF-16"}}};

// Takes pairs of bytes; where the other byte is zero, the one at `low` is no control character but white space.
bool are_characters(std::string_view text, std::size_t low) {
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const bool has_zero = text[i + 1 - low] == '\0';
    if (has_zero && byte_at(text, i + low) < 0x20 &&
        std::string_view("\t\n\r").find(text[i + low]) == std::string_view::npos)
      return false;
  }
  return true;
}

// Most text has ASCII in it, whose characters are one byte among zeros that all lie at the same places.
std::string by_zeros(std::string_view text) {
  std::array<std::size_t, 4> zeros{};
  text = text.substr(0, text.size() / 4 * 4);
  for (std::size_t i = 0; i < text.size(); ++i) zeros[i % 4] += text[i] == '\0' ? 1 : 0;
  const std::size_t all = text.size() / 4, some = (all + 9) / 10;
  const auto [a, b, c, d] = zeros;
  if (all == 0) return "";
  if (b >= some && c == all && d == all && a == 0) return "UTF-32LE";
  if (c >= some && a == all && b == all && d == 0) return "UTF-32BE";
  if (a + c == 0 && std::min(b, d) >= some && are_characters(text, 0)) return "UTF-16LE";
  if (b + d == 0 && std::min(a, c) >= some && are_characters(text, 1)) return "UTF-16BE";
  return "";
}

struct HighBytes {
  std::size_t bytes = 0, runs = 0;  // runs of neighbours
  bool has_c1 = false;              // 0x80 to 0x9F, which Latin-1 has no letters for
};

HighBytes high_bytes_of(std::string_view text) {
  HighBytes found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (byte_at(text, i) < 0x80) continue;
    ++found.bytes;
    if (i == 0 || byte_at(text, i - 1) < 0x80) ++found.runs;
    found.has_c1 |= byte_at(text, i) < 0xA0;
  }
  return found;
}

// Pairs of bytes, nearly all of them punctuation or characters of everyday use (GB 2312). Words of Cyrillic letters may be such
// pairs too, but have no bytes below 0xC0.
bool is_gbk(std::string_view text) {
  std::size_t pairs = 0, everyday = 0;
  bool has_low = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint8_t lead = byte_at(text, i);
    if (lead < 0x80) continue;
    if (++i == text.size()) break;
    const std::uint8_t trail = byte_at(text, i);
    if (!in_range(lead, 0x81, 0xFE) || !(in_range(trail, 0x40, 0x7E) || in_range(trail, 0x80, 0xFE))) return false;
    ++pairs;
    has_low |= lead < 0xC0 || trail < 0xC0;
    if (trail >= 0xA1 && (in_range(lead, 0xB0, 0xF7) || in_range(lead, 0xA1, 0xA3))) ++everyday;
  }
  return has_low && 10 * everyday >= 9 * pairs;
}

// How many characters of several bytes are sound UTF-8, and how many bytes are not.
bool is_mostly_utf8(std::string_view text) {
  std::size_t sound = 0, bad = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = utf8_character_bytes(text.substr(at));
    if (bytes > 1) ++sound;
    if (bytes == 0) ++bad;
    at += std::max<std::size_t>(bytes, 1);
  }
  return sound > bad;
}

}  // namespace

std::size_t terminal_columns(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    utf8proc_int32_t character = -1;
    const utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                    static_cast<utf8proc_ssize_t>(text.size()), &character);
    columns += character < ' ' ? 1 : static_cast<std::size_t>(utf8proc_charwidth(character));
    text.remove_prefix(static_cast<std::size_t>(std::max<utf8proc_ssize_t>(bytes, 1)));
  }
  return columns;
}

std::size_t first_not_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (byte_at(text, at) < 0x80) {
      ++at;
      continue;
    }
    const std::size_t bytes = utf8_character_bytes(text.substr(at));
    if (bytes == 0) return is_cut_character(text.substr(at)) ? std::string_view::npos : at;
    at += bytes;
  }
  return std::string_view::npos;
}

std::string guessed_encoding(std::string_view text) {
  for (const Mark& mark : marks)
    if (text.substr(0, mark.bytes.size()) == mark.bytes) return mark.name;
  if (text.find('\0') != std::string_view::npos) return by_zeros(text);
  if (first_not_utf8(text) == std::string_view::npos || is_mostly_utf8(text)) return "";
  if (is_gbk(text)) return "GB18030";
  const HighBytes found = high_bytes_of(text);
  if (found.bytes > 2 * found.runs) return "";  // words of such letters: Cyrillic, Greek, ...
  return found.has_c1 ? "WINDOWS-1252" : "LATIN1";
}

Text not_utf8(std::string_view text, std::size_t at) {
  const int byte = byte_at(text, at);
  if (is_mostly_utf8(text)) return say("the byte 0x{:02x} is not UTF-8", byte);
  const std::string encoding = guessed_encoding(text);
  return encoding.empty() ? say("the byte 0x{:02x} is not UTF-8: convert the file from its encoding (for example iconv -f WINDOWS-1251 -t UTF-8 FILE > NEW)", byte) : say("the byte 0x{0:02x} is not UTF-8, and the text looks like {1}: convert the file (iconv -f {1} -t UTF-8 FILE > NEW)", byte, encoding);
}

}  // namespace troika::base
