#include "tokenizer/byte_alphabet.h"

#include <algorithm>
#include <numeric>

#include "tokenizer/unicode.h"

namespace troika::tokenizer {

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
