#include "exporters/crc32c.h"

#include <array>

namespace troika::exporters {

static constexpr std::array<std::uint32_t, 256> make_crc_table() {
  constexpr std::uint32_t reflected_polynomial = 0x82F63B78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? reflected_polynomial : 0);
    table[byte] = crc;
  }
  return table;
}

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> table = make_crc_table();
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

}  // namespace troika::exporters
