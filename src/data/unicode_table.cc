#include "data/unicode_table.h"

#include <utf8proc.h>

#include <algorithm>
#include <map>
#include <string>

namespace troika::data {

static constexpr std::uint32_t code_points = 0x110000;
static constexpr std::uint32_t hangul_begin = 0xAC00, hangul_end = 0xD7A4;  // composed syllables, by arithmetic

static bool between(std::uint32_t c, std::uint32_t first, std::uint32_t last) { return c >= first && c <= last; }

static bool in_category(int category, utf8proc_category_t first, utf8proc_category_t last) {
  return category >= first && category <= last;
}

static CharKind kind_of(std::uint32_t c, int category) {
  if (c == '\n' || c == '\r') return CharKind::newline;
  if (between(c, 0x09, 0x0D) || c == 0x85) return CharKind::space;
  if (in_category(category, UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP)) return CharKind::space;
  if (in_category(category, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO)) return CharKind::letter;
  if (in_category(category, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO)) return CharKind::number;
  return CharKind::other;
}

static bool word_of(std::uint32_t c, int category) {
  const bool circled = between(c, 0x24B6, 0x24E9) || between(c, 0x1F130, 0x1F149) || between(c, 0x1F150, 0x1F169) ||
                       between(c, 0x1F170, 0x1F189);  // the symbols that are Alphabetic
  return circled || between(c, 0x200C, 0x200D) || in_category(category, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) ||
         category == UTF8PROC_CATEGORY_PC;
}

// Marks what canonical decomposition says: `c` itself when composing does not give it back, else the last character of its
// parts, which may join with what stands before it.
static void mark_decomposition(std::int32_t c, std::uint8_t bit, std::vector<std::uint8_t>* facts) {
  utf8proc_int32_t parts[8];
  int last_class = 0;
  const auto form = [&](unsigned options) {
    return utf8proc_decompose_char(c, parts, 8, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | options), &last_class);
  };
  const utf8proc_ssize_t count = form(UTF8PROC_DECOMPOSE);
  if (count < 1 || (count == 1 && parts[0] == c)) return;
  const utf8proc_int32_t last = parts[count - 1];
  const auto composing = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const bool restored = utf8proc_normalize_utf32(parts, count, composing) == 1 && parts[0] == c;
  (*facts)[static_cast<std::size_t>(restored ? last : c)] |= bit;
}

UnicodeTable::UnicodeTable() {
  std::vector<std::uint8_t> facts(code_points, 0);
  for (std::uint32_t c = 0; c < code_points; ++c) {
    if (c == 0x40000) c = 0xE0000;  // nothing is assigned between, and only private use behind
    if (c == 0xE1000) break;
    const utf8proc_property_t* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
    facts[c] |= static_cast<std::uint8_t>(kind_of(c, property->category));
    if (word_of(c, property->category)) facts[c] |= word_bit;
    const bool jamo = between(c, 0x1161, 0x1175) || between(c, 0x11A8, 0x11C2);  // join to Hangul syllables
    if (property->combining_class != 0 || jamo) facts[c] |= unsettled_bit;
    const bool decomposes = property->decomp_seqindex != UINT16_MAX && property->decomp_type == 0;
    if (decomposes && !between(c, hangul_begin, hangul_end - 1)) {
      mark_decomposition(static_cast<std::int32_t>(c), unsettled_bit, &facts);
    }
  }
  store(facts);
}

void UnicodeTable::store(const std::vector<std::uint8_t>& facts) {
  std::map<std::string, std::uint16_t> known;
  for (std::size_t begin = 0; begin < facts.size(); begin += 256) {
    const std::string block(reinterpret_cast<const char*>(facts.data()) + begin, 256);
    const auto [place, is_new] = known.emplace(block, static_cast<std::uint16_t>(known.size()));
    if (is_new) blocks_.insert(blocks_.end(), block.begin(), block.end());
    block_of_.push_back(place->second);
  }
}

}  // namespace troika::data
