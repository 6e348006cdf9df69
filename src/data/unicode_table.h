// What tokenizers ask about a character, by Unicode 15.0 (the tables of utf8proc 2.8). Code points without a character are
// `other` and stay as they are.
#pragma once

#include <cstdint>
#include <vector>

namespace troika::data {

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

}  // namespace troika::data
