// Small text helpers shared by every module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troika::base {

std::vector<std::string> split(std::string_view text, char separator);  // "a,,b" -> {"a", "", "b"}; "" -> {}
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string trim(std::string_view text);  // without ASCII white space at both ends
std::string lower_case(std::string_view text);  // of ASCII letters; others stay
inline bool begins_with(std::string_view text, std::string_view beginning) {
  return text.substr(0, beginning.size()) == beginning;
}
inline bool ends_with(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

// The candidate with the smallest edit distance to `name` (ties: the first), or "" when none is nearer than half its length.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

// Bytes of the valid UTF-8 character that `text` begins with, 0 when there is none: as Unicode 15 defines it (chapter 3.9,
// table 3-7), no overlong forms, no surrogates, nothing above U+10FFFF.
std::size_t utf8_character_bytes(std::string_view text);
bool is_utf8(std::string_view text);

// `text` fit for a terminal and a log: control characters other than newline, and bytes that are not valid UTF-8, as
// "\x1b"; the text beyond `most_bytes` is cut off, and its length follows.
std::string printable(std::string_view text, std::size_t most_bytes);

// Whole-string parses: false when anything is left over or out of range; `value` is then unchanged.
bool parse_int(std::string_view text, std::int64_t* value);
bool parse_double(std::string_view text, double* value);

// Tables of text as programs for spreadsheets read them (RFC 4180).
std::string csv_field(const std::string& text);                  // quoted where it must be
std::string csv_record(const std::vector<std::string>& fields);  // without the end of its line

// Tables of text that are part of the program: a line is a row, a line that begins with # a comment.
std::vector<std::string_view> table_lines(std::string_view table);  // without comments and empty lines

// The text before `mark`, which is removed from `*text` together with the mark; the whole text where there is no mark.
std::string_view cut_at(std::string_view mark, std::string_view* text);

}  // namespace troika::base
