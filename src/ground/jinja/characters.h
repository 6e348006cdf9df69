// Text as Python sees it: a row of code points. A byte outside of valid UTF-8 counts as one. Cases are mapped
// one code point to one (Unicode's simple mappings), but for "ß", which is "SS": ligatures stay where Python takes
// them apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troika::jinja {

std::vector<std::string_view> characters(std::string_view text);
std::size_t length(std::string_view text);  // in code points

std::int32_t code_point(std::string_view character);  // -1 of an invalid byte
void append_code_point(std::int32_t code_point, std::string* text);

bool is_space(std::string_view character);  // str.isspace
bool is_cased(std::string_view character);
bool is_letter(std::string_view character);  // str.isalpha
bool is_digit(std::string_view character);   // ASCII's, and other decimal digits

std::string lower(std::string_view text);
std::string upper(std::string_view text);
std::string title(std::string_view text);       // every first letter of a row of letters
std::string capitalize(std::string_view text);  // the first character, the rest in lower case

enum class Side { left, right, both };
// Without the characters in `set` at the ends; without white space when `set` is null.
std::string_view strip(std::string_view text, const std::string* set, Side side);

}  // namespace troika::jinja
