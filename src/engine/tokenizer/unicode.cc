#include "tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "base/error.h"

namespace troika::tokenizer {

std::size_t behind_ascii(std::string_view text, std::size_t at) {
  static constexpr std::size_t step = 32;
  for (; text.size() - at >= step; at += step) {
    std::uint64_t words[step / 8];
    std::memcpy(words, text.data() + at, step);
    if (((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080u) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while ((at = behind_ascii(text, at)) < text.size()) {
    std::size_t length = 0;
    for (; at < text.size() && static_cast<unsigned char>(text[at]) >= 0x80; at += length) {
      length = valid_character_bytes(text, at);
      if (length == 0) return at;
    }
  }
  return at;
}

void append_utf8(std::uint32_t c, std::string* out) {
  const auto push = [&](std::uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    push(c);
  } else if (c < 0x800) {
    push(0xC0 | c >> 6), push(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    push(0xE0 | c >> 12), push(0x80 | (c >> 6 & 0x3F)), push(0x80 | (c & 0x3F));
  } else {
    push(0xF0 | c >> 18), push(0x80 | (c >> 12 & 0x3F)), push(0x80 | (c >> 6 & 0x3F)), push(0x80 | (c & 0x3F));
  }
}

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
// parts, which may join with what is before it.
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
    if (c == 0x40000) c = 0xE0000;  // nothing is assigned between, and only private use after
    if (c == 0xE1000) break;
    const utf8proc_property_t* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
    facts[c] |= static_cast<std::uint8_t>(kind_of(c, property->category));
    if (word_of(c, property->category)) facts[c] |= word_bit;
    const bool jamo = between(c, 0x1161, 0x1175) || between(c, 0x11A8, 0x11C2);  // join to Hangul syllables
    if (property->combining_class != 0 || jamo) facts[c] |= unsettled_bit;
    const bool decomposes = property->decomp_seqindex != UINT16_MAX && property->decomp_type == 0;
    if (decomposes && !between(c, hangul_begin, hangul_end - 1))
      mark_decomposition(static_cast<std::int32_t>(c), unsettled_bit, &facts);
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

static int combining_class(utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; }

static constexpr utf8proc_ssize_t most_characters = 18;  // of a character: U+FDFA

// The decomposition of all characters, marks in canonical order.
static void decompose(std::string_view text, Decomposition how, std::vector<utf8proc_int32_t>* result) {
  auto& all = *result;
  all.clear();
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                      (how == Decomposition::compatible ? UTF8PROC_COMPAT : 0));
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t parts[most_characters];
    int last_class = 0;
    const auto c = static_cast<utf8proc_int32_t>(next_code_point(text, &at));
    const utf8proc_ssize_t count = utf8proc_decompose_char(c, parts, most_characters, options, &last_class);
    if (count < 0 || count > most_characters) throw base::BugError("a character has no decomposition");
    all.insert(all.end(), parts, parts + count);
  }
  const auto is_mark = [](utf8proc_int32_t c) { return combining_class(c) != 0; };
  for (auto begin = all.begin(); begin != all.end();) {
    begin = std::find_if(begin, all.end(), is_mark);
    const auto end = std::find_if_not(begin, all.end(), is_mark);
    std::stable_sort(begin, end, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
}

void append_decomposed(std::string_view text, Decomposition how, std::string* out) {
  std::vector<utf8proc_int32_t> all;
  decompose(text, how, &all);
  for (const utf8proc_int32_t c : all) append_utf8(static_cast<std::uint32_t>(c), out);
}

static void append_normalized(std::string_view text, std::vector<utf8proc_int32_t>* characters, std::string* out) {
  auto& all = *characters;
  decompose(text, Decomposition::canonical, &all);
  const auto composing = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const utf8proc_ssize_t count =
      utf8proc_normalize_utf32(all.data(), static_cast<utf8proc_ssize_t>(all.size()), composing);
  if (count < 0) throw base::BugError("text could not be composed");
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    append_utf8(static_cast<std::uint32_t>(all[static_cast<std::size_t>(i)]), out);
}

// Behind the characters from `at` on that composition may change.
std::size_t Nfc::end_of_stretch(std::string_view text, std::size_t at) const {
  while (at < text.size() && valid_character_bytes(text, at) != 0) {
    std::size_t behind = at;
    if (!table_->unsettled(next_code_point(text, &behind))) break;
    at = behind;
  }
  return at;
}

std::string_view Nfc::normalize(std::string_view text, std::string* storage) const {
  storage->clear();
  std::vector<utf8proc_int32_t> characters;
  std::size_t copied = 0, settled = 0;  // where the settled character before `at` begins, else `at`
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      at = behind_ascii(text, at);
      settled = at - 1;
      continue;
    }
    std::size_t behind = at;
    const bool valid = valid_character_bytes(text, at) != 0;
    if (!valid || !table_->unsettled(next_code_point(text, &behind))) {
      settled = valid ? at : at + 1;
      at = valid ? behind : at + 1;
      continue;
    }
    const std::size_t end = end_of_stretch(text, behind);
    storage->append(text, copied, settled - copied);
    append_normalized(text.substr(settled, end - settled), &characters, storage);
    copied = settled = at = end;
  }
  if (copied == 0) return text;
  storage->append(text, copied);
  return *storage;
}

static bool prints_as_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

std::array<std::uint32_t, 256> byte_code_points() {
  std::array<std::uint32_t, 256> points{};
  std::uint32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) points[byte] = prints_as_itself(byte) ? byte : next++;
  return points;
}

std::string spell_bytes(std::string_view bytes) {
  const auto points = byte_code_points();
  std::string spelling;
  for (const char c : bytes) append_utf8(points[static_cast<unsigned char>(c)], &spelling);
  return spelling;
}

ByteAlphabet::ByteAlphabet() {
  byte_of_.fill(-1);
  const auto points = byte_code_points();
  for (std::int16_t byte = 0; byte < 256; ++byte) byte_of_[points[static_cast<std::size_t>(byte)]] = byte;
}

std::optional<std::string> ByteAlphabet::bytes_of(std::string_view spelling) const {
  if (valid_utf8_prefix(spelling) != spelling.size()) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < spelling.size();) {
    const std::uint32_t point = next_code_point(spelling, &at);
    if (point >= byte_of_.size() || byte_of_[point] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte_of_[point]));
  }
  return bytes;
}

std::array<unsigned char, 256> bytes_in_alphabet_order() {
  std::array<unsigned char, 256> order{};
  std::iota(order.begin(), order.end(), static_cast<unsigned char>(0));
  const auto points = byte_code_points();
  std::sort(order.begin(), order.end(), [&](unsigned char a, unsigned char b) { return points[a] < points[b]; });
  return order;
}

}  // namespace troika::tokenizer
