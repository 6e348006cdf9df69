#include "data/table.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/terminal_text.h"
#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "data/json_records.h"

namespace troika::data {
namespace {

bool breaks_line(char c) { return c == '\n' || c == '\r'; }

// The quote that closes the field whose opening one is at `at`; the text's size when none does.
std::size_t closing_quote(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] != '"') continue;
    if (at + 1 == text.size() || text[at + 1] != '"') return at;
    ++at;
  }
  return text.size();
}

std::size_t end_of_bare(std::string_view text, std::size_t at, char separator) {
  while (at < text.size() && text[at] != separator && !breaks_line(text[at])) ++at;
  return at;
}

std::string without_doubling(std::string_view quoted) {
  std::string text;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    text += quoted[i];
    if (quoted[i] == '"') ++i;
  }
  return text;
}

// The fields of one row without its line break.
class RowReader {
 public:
  RowReader(std::string_view row, char separator, base::Origin origin)
      : row_(row), separator_(separator), origin_(origin) {}

  std::vector<std::string> fields() {
    std::vector<std::string> found;
    for (std::size_t at = 0;; ++at) {
      found.push_back(field(&at));
      if (at >= row_.size() || breaks_line(row_[at])) return found;
    }
  }

 private:
  // Moves `at` to the character after it.
  std::string field(std::size_t* at) {
    const std::size_t begin = *at;
    if (begin >= row_.size() || row_[begin] != '"') {
      *at = end_of_bare(row_, begin, separator_);
      return std::string(row_.substr(begin, *at - begin));
    }
    const std::size_t close = closing_quote(row_, begin);
    if (close == row_.size()) throw base::DataError(base::say("{}: a quote is never closed: close it, and double any quote within a field", origin_));
    *at = close + 1;
    if (*at < row_.size() && row_[*at] != separator_ && !breaks_line(row_[*at]))
      throw base::DataError(base::say("{}: text follows a closing quote: double any quote within a field", origin_));
    return without_doubling(row_.substr(begin + 1, close - begin - 1));
  }

  const std::string_view row_;
  const char separator_;
  const base::Origin origin_;
};

void refuse_other_separator(const TableHeader& header, const std::string& path) {
  if (header.keys.size() != 1) return;
  for (const char other : {';', '\t', ',', '|'})
    if (other != header.separator && header.keys[0].find(other) != std::string::npos)
      throw base::DataError(
          base::say("'{0}' is read as fields separated by {1}, but its header has '{2}': separate fields by {1}", path,
                    header.separator == '\t' ? base::say("tabs") : base::say("commas"),
                    other == '\t' ? "\\t" : std::string(1, other)));
}

bool is_list(std::string_view key) {
  static constexpr std::array<std::string_view, 3> lists = {"messages", "conversations", "history"};
  return std::find(lists.begin(), lists.end(), key) != lists.end();
}

}  // namespace

std::size_t row_end(std::string_view text, std::size_t at, char separator) {
  for (bool begins = true; at < text.size(); begins = false) {
    if (begins || text[at] == separator) {
      if (!begins) ++at;
      if (at < text.size() && text[at] == '"') at = std::min(closing_quote(text, at) + 1, text.size());
    }
    at = end_of_bare(text, at, separator);
    if (at < text.size() && breaks_line(text[at])) return at + (text.substr(at, 2) == "\r\n" ? 2 : 1);
  }
  return text.size();
}

std::int64_t line_breaks(std::string_view text) {
  std::int64_t breaks = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n' || (text[i] == '\r' && text.substr(i + 1, 1) != "\n")) ++breaks;
  return breaks;
}

bool is_empty_row(std::string_view row) { return row.find_first_not_of("\r\n") == std::string_view::npos; }

TableHeader table_header(std::string_view text, char separator, const std::string& path) {
  TableHeader header;
  header.separator = separator;
  std::size_t begin = has_byte_order_mark(text) ? byte_order_mark.size() : 0;
  while (begin < text.size() && breaks_line(text[begin])) ++begin;
  header.end = row_end(text, begin, separator);
  header.line = 1 + line_breaks(text.substr(0, header.end));
  const base::Text origin = base::say("the header of '{}'", path);
  header.keys = RowReader(text.substr(begin, header.end - begin), separator, origin).fields();
  refuse_other_separator(header, path);
  std::vector<std::string> sorted = header.keys;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw base::DataError(base::say("{}: '{}' is listed twice", origin, *twice));
  return header;
}

std::string record_of_row(std::string_view row, const TableHeader& header, base::Origin origin) {
  if (!base::is_utf8(row))
    throw base::DataError(base::say("{}: {}", origin,
                                    base::not_utf8(row, std::min(base::first_not_utf8(row), row.size() - 1))));
  const std::vector<std::string> fields = RowReader(row, header.separator, origin).fields();
  if (fields.size() != header.keys.size())
    throw base::DataError(base::say("{}: the number of fields is {}, but the header has {}: quote fields that contain a separator or a line break", origin, fields.size(), header.keys.size()));
  const auto quoted = [](const std::string& text) { return Json(text).dump(); };
  std::string record;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& key = header.keys[i];
    if (fields[i].empty() && (is_list(key) || key == "tools")) continue;
    if (is_list(key)) base::parse_ordered_json(fields[i], base::say("{}: '{}'", origin, key));
    record += (record.empty() ? "{" : ",") + quoted(key) + ":" + (is_list(key) ? fields[i] : quoted(fields[i]));
  }
  return record.empty() ? "{}" : record + "}";
}

}  // namespace troika::data
