// UTF-8 as Unicode 15 defines it (chapter 3.9, table 3-7): no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace troika::data {

// Bytes of the valid sequence at `text`, of which `left` bytes (at least 1) may be read; 0 when there is none.
std::size_t utf8_sequence_length(const char* text, std::size_t left);

// Bytes of the longest prefix that is whole, valid UTF-8.
std::size_t valid_utf8_prefix(std::string_view text);

void append_utf8(std::uint32_t code_point, std::string* out);

// The code point at `*position`, which is advanced behind it. `text` must be valid UTF-8.
std::uint32_t next_code_point(std::string_view text, std::size_t* position);

}  // namespace troika::data
