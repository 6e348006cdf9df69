// The elements of a JSON array that is too large to be parsed in one piece.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troika::data {

// Where the value that begins at or behind `at` ends: the place of the comma or bracket behind it. npos when the text
// ends first. Brackets and strings are counted, nothing is checked.
std::size_t element_end(std::string_view text, std::size_t at);

// The first character that is neither white space nor a byte order mark (UTF-8); npos when there is none.
std::size_t content_begin(std::string_view text);

// Behind the opening bracket. DataError naming `path` when the first character is no bracket.
std::size_t array_begin(std::string_view text, const std::string& path);

}  // namespace troika::data
