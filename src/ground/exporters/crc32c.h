// The check sum of TensorBoard's event files.
#pragma once

#include <cstdint>
#include <string_view>

namespace troika::exporters {

// CRC-32C (Castagnoli, RFC 3720 B.4): of "123456789" 0xE3069283.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace troika::exporters
