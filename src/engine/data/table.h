// Tables of text, .csv and .tsv (RFC 4180): a row is a record, whose keys are the fields of the first row and whose values are texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"

namespace troika::data {

struct TableHeader {
  char separator = ',';
  std::vector<std::string> keys;
  std::size_t end = 0;    // of the header in the text; rows follow
  std::int64_t line = 1;  // the number of the line that they begin in
};

// The first row, behind a byte order mark. DataError naming `path`: for a table without one, a name that appears twice, and a
// row that another separator (; or a tab) parts.
TableHeader table_header(std::string_view text, char separator, const std::string& path);

// Where the row that begins at `at` ends: behind its line break (LF, CRLF or CR), which a quoted field may hold as well.
std::size_t row_end(std::string_view text, std::size_t at, char separator);

// Line breaks in `text`.
std::int64_t line_breaks(std::string_view text);

bool is_empty_row(std::string_view row);

// The row as a JSON object. A quote opens a field at its beginning alone; two within it are one. An empty field under messages,
// conversations, history or tools is left out; the text under the first three is JSON. DataError naming `origin`: for another
// number of fields than the header has, a quote that is never closed, and text after the one that closes.
std::string record_of_row(std::string_view row, const TableHeader& header, base::Origin origin);

}  // namespace troika::data
