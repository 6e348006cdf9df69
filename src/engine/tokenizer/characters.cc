#include "tokenizer/characters.h"

#include <fmt/format.h>

#include <algorithm>

namespace troika::tokenizer {

std::string byte_token(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

std::optional<unsigned char> byte_of_token(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token[5] != '>') return std::nullopt;
  unsigned value = 0;
  for (const char c : token.substr(3, 2)) {
    const auto digit = std::string_view("0123456789abcdef").find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = 16 * value + static_cast<unsigned>(digit);
  }
  return static_cast<unsigned char>(value);
}

Characters::Characters(const std::vector<std::string>& tokens, const std::vector<std::int32_t>& left_out,
                       const Fallback& fallback)
    : fallback_(fallback), block_of_(0x110000 / block_size, 0), ids_(block_size, -1) {
  std::vector<bool> skipped(tokens.size(), false);
  for (const std::int32_t id : left_out) skipped.at(static_cast<std::size_t>(id)) = true;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const std::string& token = tokens[id];
    if (token.empty() || skipped[id] || valid_character_bytes(token, 0) != token.size()) continue;
    std::size_t behind = 0;
    const std::uint32_t c = next_code_point(token, &behind);
    std::uint32_t& block = block_of_[c / block_size];
    if (block == 0) {
      block = static_cast<std::uint32_t>(ids_.size());
      ids_.resize(ids_.size() + block_size, -1);
    }
    std::int32_t& place = ids_[block + c % block_size];
    if (place < 0) place = static_cast<std::int32_t>(id);
  }
}

Characters::Symbol Characters::of_bytes(std::string_view character) const {
  const auto id_of = [&](char byte) { return fallback_.bytes[static_cast<unsigned char>(byte)]; };
  const bool all = std::all_of(character.begin(), character.end(), [&](char byte) { return id_of(byte) >= 0; });
  if (!all) return {-1, -1, character.size(), false};
  return {id_of(character.front()), id_of(character.back()), character.size(), false};
}

std::int32_t* Characters::write(std::string_view text, std::int32_t* ids, std::size_t* lacking) const {
  bool unknown_before = false;  // not written yet; as there, bytes do not end a run
  for (std::size_t place = 0; place < text.size();) {
    const Symbol symbol = at(text, place);
    if (symbol.is_token) {
      if (unknown_before) *ids++ = fallback_.unknown;
      unknown_before = false;
      *ids++ = symbol.first;
    } else if (symbol.first >= 0) {
      for (const char byte : text.substr(place, symbol.bytes))
        *ids++ = fallback_.bytes[static_cast<unsigned char>(byte)];
    } else {
      *lacking += symbol.bytes;
      if (unknown_before && !fallback_.fused) *ids++ = fallback_.unknown;
      unknown_before = fallback_.unknown >= 0;
    }
    place += symbol.bytes;
  }
  if (unknown_before) *ids++ = fallback_.unknown;
  return ids;
}

}  // namespace troika::tokenizer
