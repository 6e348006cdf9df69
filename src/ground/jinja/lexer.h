// A template cut into text and the tokens of its tags, with the white space around tags taken away as Jinja does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"

namespace troika::jinja {

struct Token {
  enum class Kind { text, print_begin, print_end, block_begin, block_end, name, string, integer, real, sign, end };
  Kind kind = Kind::end;
  std::string text;  // of a string what it stands for; of a sign the sign
  int line = 0;
};

// Blocks are trimmed (trim_blocks, lstrip_blocks); comments are gone, raw blocks are text; one newline at the end of
// the source is left out. The last token is `end`. DataError naming origin and line.
std::vector<Token> tokens_of(std::string_view source, const std::string& origin);

// "ORIGIN line N: TEXT".
[[noreturn]] void fail_at(const std::string& origin, int line, const base::Text& text);

}  // namespace troika::jinja
