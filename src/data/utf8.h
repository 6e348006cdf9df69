// UTF-8 in long texts and code points; what a valid character is, base::utf8_character_bytes says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace troika::data {

// Bytes of the longest prefix that is whole, valid UTF-8.
std::size_t valid_utf8_prefix(std::string_view text);

void append_utf8(std::uint32_t code_point, std::string* out);

// The code point at `*position`, which is advanced behind it. `text` must be valid UTF-8.
std::uint32_t next_code_point(std::string_view text, std::size_t* position);

}  // namespace troika::data
