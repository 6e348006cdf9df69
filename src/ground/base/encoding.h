// Which encoding a text is in that is not UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/language.h"

namespace troika::base {

// Where the first byte lies that begins no UTF-8 character; npos: none. A character that `text` ends in the middle of, as a
// beginning of a file may, is none either.
std::size_t first_not_utf8(std::string_view text);

// The encoding of `text` by the name that iconv has for it, as far as that can be told from its bytes: UTF-16LE, UTF-32BE, ...
// by a byte order mark or by where the zeros are; GB18030; LATIN1, WINDOWS-1252. "": it is UTF-8, no text, or cannot be told.
std::string guessed_encoding(std::string_view text);

// What is wrong with `text` at the byte `at`, which first_not_utf8 found, and the command that mends it.
Text not_utf8(std::string_view text, std::size_t at);

}  // namespace troika::base
