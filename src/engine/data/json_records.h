// Records of JSON: the elements of an array that is too large to be parsed in one piece, and keys of a record with errors
// that name them.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/language.h"

namespace troika::data {

// Where the value that begins at or after `at` ends: the place of the comma or bracket after it. npos when the text
// ends first. Brackets and strings are counted, nothing is checked.
std::size_t element_end(std::string_view text, std::size_t at);

// A record is one line, one element or one row; none may be larger.
inline constexpr std::size_t most_record_bytes = std::size_t{1} << 28;
void refuse_large_record(std::size_t bytes, base::Origin origin);  // DataError

bool is_blank(std::string_view text);  // white space alone

// A line that only opens an object, of which the rest is on the next ones. DataError.
void refuse_split_object(std::string_view line, base::Origin origin);

inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // of UTF-8
bool has_byte_order_mark(std::string_view text);

// The first character that is neither white space nor a byte order mark; npos when there is none.
std::size_t content_begin(std::string_view text);

// Behind the opening bracket. DataError naming `path` when the first character is no bracket.
std::size_t array_begin(std::string_view text, const std::string& path);

// Members of a record, with errors that name them.
using Json = nlohmann::ordered_json;

const Json* find_key(const Json& object, const std::string& name);  // null when it is absent or JSON's null

// DataError: "line 3 of 'x.jsonl': messages[1].role must be a string, not a number".
// `shown`: its name with its place, where that is another.
const Json& required_key(const Json& object, const std::string& name, base::Origin origin, const std::string& shown = "");
const std::string& as_string(const Json& value, const std::string& name, base::Origin origin);
const Json& as_array(const Json& value, const std::string& name, base::Origin origin);
bool is_array_as_text(const Json& value);
Json list_of(const Json& value, const std::string& name, base::Origin origin);  // an array, or one as JSON text
const Json& as_object(const Json& value, const std::string& name, base::Origin origin);
std::string string_or_empty(const Json& object, const std::string& name, base::Origin origin);

}  // namespace troika::data
