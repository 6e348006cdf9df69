#include "data/file_content.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "base/json.h"
#include "base/terminal_text.h"
#include "base/say.h"
#include "data/input_text.h"
#include "data/json_records.h"
#include "data/record_format.h"

namespace troika::data {
namespace {

struct Magic {
  std::string_view bytes;
  base::Phrase what, remedy;
};

constexpr std::array<Magic, 13> magics = {{
    {"\xFD\x37zXZ", base::Phrase("xz data"), base::Phrase("decompress it first; .gz and .zst are read as they are")},
    {"\x04\x22\x4D\x18", base::Phrase("lz4 data"), base::Phrase("decompress it first; .gz and .zst are read as they are")},
    {"PK\x03\x04", base::Phrase("a ZIP archive"), base::Phrase("unpack it into a folder and give that")},
    {"7z\xBC\xAF\x27\x1C", base::Phrase("an archive"), base::Phrase("unpack it into a folder and give that")},
    {"Rar!\x1A\x07", base::Phrase("an archive"), base::Phrase("unpack it into a folder and give that")},
    {"%PDF-", base::Phrase("a PDF"), base::Phrase("extract its text first (pdftotext)")},
    {"SQLite format 3", base::Phrase("an SQLite database"), base::Phrase("export it as JSON lines or CSV")},
    {"Obj\x01", base::Phrase("an Avro file"), base::Phrase("export it as JSON lines or CSV")},
    {"\x93NUMPY", base::Phrase("a file of arrays"), base::Phrase("export it as JSON lines or CSV")},
    {"\x89HDF", base::Phrase("a file of arrays"), base::Phrase("export it as JSON lines or CSV")},
    {"version https://git-lfs.github.com/spec/", base::Phrase("a Git LFS pointer"), base::Phrase("fetch the file itself (git lfs pull)")},
    {"PAR1", base::Phrase("a Parquet file"), base::Phrase("")},
    {{"ARROW1\0\0", 8}, base::Phrase("an Arrow file"), base::Phrase("")},
}};

// Compressed once, or once more than its ending says.
Foreign compressed(base::Phrase what, const char* ending, const std::string& path) {
  const bool again = compression_of(path) != Compression::none;
  return {ForeignKind::binary, base::say(what),
          again ? base::say("decompress it first; .gz and .zst are read as they are") : base::say("rename it to end in {}, or decompress it", ending)};
}

// "a/b.jsonl" -> "a/b.utf8.jsonl"
std::string beside(const std::string& path, const std::string& word) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1,
                    dot = path.find('.', name + 1);
  return path.substr(0, dot) + "." + word + (dot == std::string::npos ? "" : path.substr(dot));
}

Foreign other_encoding(const std::string& encoding, const std::string& path) {
  const bool is_plain = compression_of(path) == Compression::none;
  const std::string from = is_plain ? path : "FILE", to = is_plain ? beside(path, "utf8") : "NEW";
  return {ForeignKind::encoding, base::verbatim(encoding),
          base::say("convert it\n  {}", fmt::format("iconv -f {} -t UTF-8 '{}' > '{}'", encoding, from, to))};
}

}  // namespace

std::optional<Foreign> foreign_content(std::string_view first, const std::string& path) {
  if (base::begins_with(first, "\x1F\x8B")) return compressed(base::Phrase("gzip data"), ".gz", path);
  if (base::begins_with(first, "\x28\xB5\x2F\xFD")) return compressed(base::Phrase("Zstandard data"), ".zst", path);
  if (base::begins_with(first, "BZh") && first.size() > 4 && first.substr(4, 6) == "1AY&SY")
    return Foreign{ForeignKind::binary, base::say("bzip2 data"), base::say("decompress it first; .gz and .zst are read as they are")};
  for (const Magic& magic : magics) {
    if (!base::begins_with(first, magic.bytes)) continue;
    const base::Text remedy =
        magic.remedy.english().empty()
            ? base::say("convert it\n  {}", table_command(path, magic.bytes == "PAR1" ? "parquet" : "feather"))
            : base::say(magic.remedy);
    return Foreign{ForeignKind::binary, base::say(magic.what), remedy};
  }
  const bool has_zeros = first.find('\0') != std::string_view::npos;
  const bool is_marked = base::begins_with(first, "\xFF\xFE") || base::begins_with(first, "\xFE\xFF");
  if (!has_zeros && !is_marked) return std::nullopt;
  if (const std::string encoding = base::guessed_encoding(first); !encoding.empty())
    return other_encoding(encoding, path);
  if (first.size() > 262 && first.substr(257, 5) == "ustar")
    return Foreign{ForeignKind::binary, base::say("an archive"), base::say("unpack it into a folder and give that")};
  return Foreign{ForeignKind::binary, base::say("binary data (it holds NUL bytes)"), base::say("give text, JSONL, CSV or token shards")};
}

base::Text describe(const Foreign& foreign, const std::string& path) {
  return base::say(foreign.kind == ForeignKind::encoding ? base::Phrase("'{}' is not UTF-8 but {}: {}") : base::Phrase("'{}' is not text but {}: {}"), path, foreign.what,
                   foreign.remedy);
}

std::string table_command(const std::string& path, std::string_view format) {
  const std::size_t slash = path.rfind('/'), dot = path.find('.', slash == std::string::npos ? 0 : slash + 1);
  const std::string name = path.substr(0, dot);
  if (format == "arrow")  // a stream, as Hugging Face's datasets write it
    return fmt::format(
        "python3 -c \"import datasets; datasets.Dataset.from_file('{}').to_json('{}.jsonl', force_ascii=False)\"", path,
        name);
  return fmt::format(
      "python3 -c \"import pandas; pandas.read_{}('{}').to_json('{}.jsonl', orient='records', lines=True, "
      "force_ascii=False)\"",
      format, path, name);
}

bool always_lines(std::string_view name) {
  static constexpr std::array<std::string_view, 4> endings = {".jsonl", ".ndjson", ".jsonlines", ".jl"};
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return has_ending(without_compression(name), ending); });
}

bool is_jsonl(std::string_view name) { return base::ends_with(without_compression(name), ".jsonl"); }
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
