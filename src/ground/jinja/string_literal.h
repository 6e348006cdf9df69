// The escapes of Python's string literals.
#pragma once

#include <string>
#include <string_view>

#include "base/language.h"

namespace troika::jinja {

// What `literal` (without its quotes) stands for. A backslash in front of a character that makes no escape stays.
// False for a malformed \x, \u, \U, a surrogate without its pair, and \N; `problem` says which.
bool read_escapes(std::string_view literal, std::string* text, base::Text* problem);

}  // namespace troika::jinja
