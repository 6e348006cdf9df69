// UTF-8 in long texts, and code points; base::utf8_character_bytes defines a valid character.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace troika::tokenizer {

// Bytes of the longest prefix that is whole, valid UTF-8.
std::size_t valid_utf8_prefix(std::string_view text);

void append_utf8(std::uint32_t code_point, std::string* out);

// The code point at `*position`, which is advanced after it. `text` must be valid UTF-8.
inline std::uint32_t next_code_point(std::string_view text, std::size_t* position) {
  const auto* byte = reinterpret_cast<const unsigned char*>(text.data()) + *position;
  const auto low = [&](int i) { return std::uint32_t{byte[i]} & 0x3F; };
  const std::uint32_t lead = byte[0];
  if (lead < 0x80) return ++*position, lead;
  if (lead < 0xE0) return *position += 2, (lead & 0x1F) << 6 | low(1);
  if (lead < 0xF0) return *position += 3, (lead & 0x0F) << 12 | low(1) << 6 | low(2);
  return *position += 4, (lead & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3);
}

// Bytes of the valid character at text[at], 0 where there is none; at < text.size().
inline std::size_t valid_character_bytes(std::string_view text, std::size_t at) {
  const auto* byte = reinterpret_cast<const unsigned char*>(text.data()) + at;
  const auto continues = [&](std::size_t i) { return (byte[i] & 0xC0) == 0x80; };
  const std::size_t left = text.size() - at;
  if (byte[0] < 0x80) return 1;
  if (byte[0] >= 0xC2 && byte[0] < 0xE0) return left >= 2 && continues(1) ? 2 : 0;
  const bool any_second = byte[0] >= 0xE1 && byte[0] < 0xF0 && byte[0] != 0xED;
  if (any_second) return left >= 3 && continues(1) && continues(2) ? 3 : 0;
  return base::utf8_character_bytes(text.substr(at));
}

// Behind the ASCII characters from `at` on.
std::size_t behind_ascii(std::string_view text, std::size_t at);

// The properties tokenizers ask of a character, by Unicode 15.0 (the tables of utf8proc 2.8). Code points without a character are
// `other` and stay as they are.
enum class CharKind : std::uint8_t {
  other,    // marks, punctuation, symbols, controls, unassigned
  letter,   // \p{L}
  number,   // \p{N}
  space,    // \s (White_Space) except the next
  newline,  // U+000A, U+000D
};

// Threads: const use is safe. About 100 KB.
class UnicodeTable {
 public:
  UnicodeTable();  // takes a few milliseconds

  // `c` at most U+10FFFF.
  CharKind kind(std::uint32_t c) const { return static_cast<CharKind>(at(c) & 7); }
  bool is_space(std::uint32_t c) const { return kind(c) >= CharKind::space; }

  // \w: Alphabetic, marks, decimal digits, connectors, joiners (Unicode Technical Standard 18, annex C).
  bool is_word(std::uint32_t c) const { return (at(c) & word_bit) != 0; }

  // Whether composition (NFC) may change `c` or a neighbour of it: it has a combining class, or NFC_Quick_Check is not Yes.
  // Text without such characters is in NFC, and NFC never looks across the begin of one that is not such.
  bool unsettled(std::uint32_t c) const { return (at(c) & unsettled_bit) != 0; }

 private:
  static constexpr std::uint8_t word_bit = 8, unsettled_bit = 16;
  std::uint8_t at(std::uint32_t c) const { return blocks_[std::size_t{block_of_[c >> 8]} * 256 + (c & 255)]; }
  void store(const std::vector<std::uint8_t>& facts);

  std::vector<std::uint16_t> block_of_;  // by the upper bits of a code point
  std::vector<std::uint8_t> blocks_;     // 256 each, equal ones once
};

// Unicode Normalization Form C (Unicode Standard Annex 15), the normalizer "NFC" of a tokenizer.json.
// Threads: const use is safe.
class Nfc {
 public:
  explicit Nfc(std::shared_ptr<const UnicodeTable> table) : table_(std::move(table)) {}

  // `text` in NFC: `text` itself when that changes nothing, else a view of `*storage`. Bytes that are not valid UTF-8 stay
  // as they are, and nothing is composed across them. Linear in the length (n log n for runs of combining marks).
  std::string_view normalize(std::string_view text, std::string* storage) const;

 private:
  std::size_t end_of_stretch(std::string_view text, std::size_t at) const;
  std::shared_ptr<const UnicodeTable> table_;
};

enum class Decomposition { canonical, compatible };

// Appends Normalization Form D or KD of `text`, which must be valid UTF-8.
void append_decomposed(std::string_view text, Decomposition how, std::string* out);

// The alphabet in which byte-level BPE vocabularies are written: each byte is one printable character (GPT-2, A.
// Radford et al. 2019). Printable Latin-1 represents itself; the other 68 bytes are U+0100, U+0101, ... in byte order.
// Code point of each byte.
std::array<std::uint32_t, 256> byte_code_points();

// Spelling -> bytes for many spellings. Threads: const use is safe.
class ByteAlphabet {
 public:
  ByteAlphabet();
  // Nothing when a character outside the alphabet occurs.
  std::optional<std::string> bytes_of(std::string_view spelling) const;

 private:
  std::array<std::int16_t, 0x100 + 68> byte_of_;  // by code point; -1: none
};

// Bytes -> their spelling, as UTF-8.
std::string spell_bytes(std::string_view bytes);

// All 256 bytes in the order of their code points: the ids a byte-level vocabulary begins with.
std::array<unsigned char, 256> bytes_in_alphabet_order();

}  // namespace troika::tokenizer
