// Tables of text that are part of the program: a line is a row, a line that begins with # a comment.
#pragma once

#include <string_view>
#include <vector>

namespace troika::base {

std::vector<std::string_view> table_lines(std::string_view table);  // without comments and empty lines

// What comes before `mark`, which leaves `*text` with it; all of it where there is no mark.
std::string_view cut_at(std::string_view mark, std::string_view* text);

}  // namespace troika::base
