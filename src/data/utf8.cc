#include "data/utf8.h"

#include <cstring>

#include "base/text.h"

namespace troika::data {

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = 0;
    if (text.size() - at >= 8 && (std::memcpy(&eight, text.data() + at, 8), (eight & 0x8080808080808080u) == 0)) {
      at += 8;
      continue;
    }
    const std::size_t length = base::utf8_character_bytes(text.substr(at));
    if (length == 0) break;
    at += length;
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

std::uint32_t next_code_point(std::string_view text, std::size_t* position) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[*position + i]));
  };
  const std::uint32_t lead = byte(0);
  const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  std::uint32_t code_point = length == 1 ? lead : lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) code_point = code_point << 6 | (byte(i) & 0x3F);
  *position += length;
  return code_point;
}

}  // namespace troika::data
