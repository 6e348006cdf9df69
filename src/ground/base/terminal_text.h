// Text that others have written - a model, a file, another host: shown to a person it steers no terminal, and in which encoding it is that
// is not UTF-8.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/language.h"

namespace troika::base {

// Whether a terminal shows this valid character of UTF-8 and does nothing else: no control character (U+0000 to U+001F, U+007F to U+009F)
// but newline and tab, no mark that turns the direction of text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), no
// separator of lines or paragraphs (U+2028, U+2029). The one definition for all that Troika shows.
bool is_printable(std::string_view character);

// Valid UTF-8: U+FFFD for each longest piece that begins a character and does not end it, and for each byte that begins none (Unicode 15,
// chapter 3.9), as Python's errors="replace" does.
std::string valid_utf8(std::string_view bytes);

// How many bytes at the end begin a character that those to come may end.
std::size_t unfinished_bytes(std::string_view text);

// Valid UTF-8 with U+FFFD in place of what is not printable.
std::string terminal_text(std::string_view bytes);

// The same JSON: what is not printable in its texts as "\u009b". It is valid UTF-8.
std::string printable_json(std::string_view text_of_json);

// Writes all of `text`: as terminal_text where `out` is a terminal, else as it is.
void put(std::string_view text, std::FILE* out);

// Columns that text takes on a terminal: Chinese and Japanese characters and full-width signs two, marks that join the one before none.
// Control characters and bytes that are not UTF-8 count as one: text from outside is made printable before it comes here.
std::size_t terminal_columns(std::string_view text);

// Where the first byte lies that begins no UTF-8 character; npos: none. A character that `text` ends in the middle of, as a
// beginning of a file may, is none either.
std::size_t first_not_utf8(std::string_view text);

// The encoding of `text` by the name that iconv has for it, as far as that can be told from its bytes: UTF-16LE, UTF-32BE, ...
// by a byte order mark or by where the zeros are; GB18030; LATIN1, WINDOWS-1252. "": it is UTF-8, no text, or cannot be told.
std::string guessed_encoding(std::string_view text);

// Describes the fault of `text` at the byte `at`, which first_not_utf8 found, and names the command that mends it.
Text not_utf8(std::string_view text, std::size_t at);

}  // namespace troika::base
