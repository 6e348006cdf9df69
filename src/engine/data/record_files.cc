#include "data/record_files.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "data/input_text.h"
#include "data/json_records.h"
#include "data/record_format.h"

namespace troika::data {
bool always_lines(std::string_view name) {
  static constexpr std::array<std::string_view, 4> endings = {".jsonl", ".ndjson", ".jsonlines", ".jl"};
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return has_ending(without_compression(name), ending); });
}

bool is_jsonl(std::string_view name) { return ends_with(without_compression(name), ".jsonl"); }
bool is_json(std::string_view name) { return has_ending(without_compression(name), ".json"); }
char separator_of(std::string_view name) {
  name = without_compression(name);
  if (has_ending(name, ".csv")) return ',';
  return has_ending(name, ".tsv") ? '\t' : '\0';
}

bool named_like_records(std::string_view name) {
  return always_lines(name) || is_json(name) || separator_of(name) != '\0';
}

FileKind kind_of_json(std::string_view first) {
  const std::size_t at = content_begin(first);
  return at != std::string_view::npos && first[at] == '[' ? FileKind::json_array : FileKind::json_lines;
}

namespace {

constexpr std::size_t most_looked_at = std::size_t{1} << 24;

// Whether `text` is a whole object.
bool is_object(std::string_view text) {
  try {
    return base::parse_ordered_json(text, "").is_object();
  } catch (const base::DataError&) {
    return false;
  }
}

bool is_known_record(std::string_view text) {
  try {
    shape_of(base::parse_ordered_json(text, ""), "text", "");
    return true;
  } catch (const base::DataError&) {
    return false;
  }
}

// `text` begins with an object. Nothing is known while it has no two whole lines and there is more of it.
bool are_lines(std::string_view text) {
  const std::size_t begin = content_begin(text), end = std::min(text.find('\n', begin), text.size());
  const std::string_view line = text.substr(begin, end - begin);
  const std::size_t next = text.find_first_not_of(" \t\r\n", end);
  if (next == std::string_view::npos) return is_known_record(line);
  const std::string_view second = text.substr(next, text.find('\n', next) - next);
  return is_object(line) && (is_object(second) || is_known_record(line));
}

bool is_array_of_records(std::string_view text) {
  const std::size_t begin = content_begin(text) + 1, end = element_end(text, begin);
  return end != std::string_view::npos && is_known_record(text.substr(begin, end - begin));
}

// Whether an object begins at or after `at`: a brace and a key, with no more than `between` before each.
bool begins_object(std::string_view text, std::size_t at, std::string_view between) {
  at = text.find_first_not_of(between, at);
  if (at == std::string_view::npos || text[at] != '{') return false;
  at = text.find_first_not_of(between, at + 1);
  return at != std::string_view::npos && text[at] == '"';
}

// Whether what was looked at tells as much as the whole file would.
bool suffices(std::string_view text, bool array) {
  if (array) return element_end(text, content_begin(text) + 1) != std::string_view::npos;
  const std::size_t end = text.find('\n'),
                    next = end == std::string_view::npos ? end : text.find_first_not_of(" \t\r\n", end);
  return next != std::string_view::npos && text.find('\n', next) != std::string_view::npos;
}

}  // namespace

FileKind kind_by_content(const std::string& path, std::string_view first) {
  const std::size_t at = content_begin(first);
  if (at == std::string_view::npos) return FileKind::text;
  const bool array = first[at] == '[';
  if (!begins_object(first, array ? at + 1 : at, array ? " \t\r\n" : " \t")) return FileKind::text;
  for (std::size_t most = std::size_t{1} << 16;; most *= 16) {
    const std::string text = first_text(path, most);
    if (text.size() == most && most < most_looked_at && !suffices(text, array)) continue;
    if (array) return is_array_of_records(text) ? FileKind::json_array : FileKind::text;
    return are_lines(text) ? FileKind::json_lines : FileKind::text;
  }
}

}  // namespace troika::data
