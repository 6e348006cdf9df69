#include "data/source_shape.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "data/chunks.h"
#include "data/input_text.h"
#include "data/json_records.h"
#include "data/file_content.h"
#include "data/shard_index.h"

namespace troika::data {
namespace {

// The first row with something in it.
std::string first_row(std::string_view text, bool whole_file, const std::string& path, const base::Text& origin) {
  const char separator = separator_of(path);
  std::size_t begin = has_byte_order_mark(text) ? byte_order_mark.size() : 0, end = row_end(text, begin, separator);
  if (end == text.size() && !whole_file) return "";
  const TableHeader header = table_header(text, separator, path);
  for (begin = header.end; begin < text.size(); begin = end) {
    end = row_end(text, begin, separator);
    const std::string_view row = text.substr(begin, end - begin);
    if (end == text.size() && !whole_file) return "";
    if (!is_empty_row(row)) return record_of_row(row, header, origin);
  }
  return "";
}

// The record that `text`, the beginning of a file, begins with; "" when it is not there whole.
std::string record_of(std::string_view text, FileKind kind, bool whole_file, const std::string& path) {
  if (kind == FileKind::json_array) {
    const std::size_t begin = array_begin(text, path), end = element_end(text, begin);
    if (end != std::string_view::npos) return base::trim(text.substr(begin, end - begin));
    if (whole_file) throw base::DataError(base::say("'{}' ends inside its array of records: copy it again", path));
    return "";
  }
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  return end == text.size() && !whole_file ? "" : base::trim(text.substr(begin, end - begin));
}

}  // namespace

std::optional<FirstRecord> first_record(const CorpusFile& file) {
  if (file.kind == FileKind::text) return std::nullopt;
  const base::Text origin = base::say("the first record of '{}'", file.path);
  for (std::size_t most = std::size_t{1} << 16;;
       most = std::min(16 * most, most_record_bytes + (std::size_t{1} << 20))) {
    const std::string text = first_text(file.path, most);
    const bool whole = text.size() < most;
    std::string record = file.kind == FileKind::table ? first_row(text, whole, file.path, origin)
                                                      : record_of(text, file.kind, whole, file.path);
    if (!record.empty()) return FirstRecord{std::move(record), origin};
    if (whole) return std::nullopt;
    refuse_large_record(most, origin);
  }
}

std::optional<FirstRecord> first_record(const Corpus& corpus) {
  for (const CorpusFile& file : corpus.files)
    if (auto found = first_record(file)) return found;
  return std::nullopt;
}

namespace {

bool holds_records(const Corpus& corpus) {
  const auto is_json = [](const CorpusFile& file) { return file.kind != FileKind::text; };
  return std::all_of(corpus.files.begin(), corpus.files.end(), is_json);
}

RecordShape detected_shape(const Source& source, const Corpus& corpus) {
  const std::optional<FirstRecord> first = first_record(corpus);
  if (!first) throw base::DataError(base::say("'{}' has no records: give a file with records", source.path));
  refuse_split_object(first->text, first->origin);
  try {
    return shape_of(base::parse_ordered_json(first->text, first->origin), source.text_key, first->origin);
  } catch (const base::DataError& error) {
    throw base::with_context(error, base::say("while detecting the data format"));
  }
}

// The format of the first record where it is one that is known.
std::optional<Format> known_format(const CorpusFile& file, const std::string& text_key) {
  try {
    const std::optional<FirstRecord> first = first_record(file);
    if (!first) return std::nullopt;
    return shape_of(base::parse_ordered_json(first->text, first->origin), text_key, first->origin).format;
  } catch (const base::DataError&) {
    return std::nullopt;
  }
}

// Text takes .json files beside other files as they are, and of .jsonl files those that hold texts.
void refuse_records_beside_text(const Source& source, const Corpus& corpus) {
  const auto text = std::find_if(corpus.files.begin(), corpus.files.end(),
                                 [](const CorpusFile& file) { return file.kind == FileKind::text; });
  for (const CorpusFile& file : corpus.files) {
    const std::optional<Format> format = known_format(file, source.text_key);
    if (!format && file.kind == FileKind::table)
      throw base::DataError(base::say("'{0}' has a table ('{1}') next to text ('{2}'): put them in separate folders", source.path, file.name, text->name));
    if (!format || (*format == Format::text && always_lines(file.name))) continue;
    if (*format == Format::text)
      throw base::DataError(base::say("'{0}' has records with a text each ('{1}') next to text ('{2}'): put them in a separate folder, or name JSON lines files .jsonl", source.path, file.name, text->name));
    throw base::DataError(base::say("'{0}' has records ('{1}': {2}) next to text ('{3}'): set --data.format {2}, which reads only its files of records, or put them in separate folders", source.path, file.name, word_of(*format), text->name));
  }
}

// Stated as text: records of a .json file are taken where their first one has the text.
bool has_text(const Corpus& corpus, const std::string& text_key) {
  try {
    const std::optional<FirstRecord> first = first_record(corpus);
    return first && find_key(base::parse_ordered_json(first->text, first->origin), text_key) != nullptr;
  } catch (const base::DataError&) {  // not JSON: a text like any other
    return false;
  }
}

}  // namespace

SourceShape shape_of_source(const Source& source) {
  const bool stated_text = source.shape && source.shape->format == Format::text;
  if (looks_like_shards(source.path)) return {};
  if (source.shape && !stated_text) return {*source.shape, JsonFiles::records};
  const Corpus corpus = find_corpus({source.path}, JsonFiles::records);
  if (holds_records(corpus) && !stated_text)
    return {detected_shape(source, corpus), JsonFiles::records, corpus.left_out};
  const bool records = holds_records(corpus) && has_text(corpus, source.text_key);
  if (!stated_text) refuse_records_beside_text(source, corpus);
  const JsonFiles files = records ? JsonFiles::records : stated_text ? JsonFiles::as_text : JsonFiles::documents;
  return {{}, files, corpus.left_out, corpus.not_utf8};
}

Corpus record_files(const Source& source) {
  Corpus corpus = find_corpus({source.path}, JsonFiles::records);
  CorpusFile& named = corpus.files.front();
  if (source.shape && base::file_exists(source.path) && named.kind == FileKind::text)
    named.kind = kind_of_json(first_text(named.path, 8192));
  const auto is_text = [](const CorpusFile& file) { return file.kind == FileKind::text; };
  for (const CorpusFile& file : corpus.files)
    if (is_text(file)) corpus.left_out.add(Why::no_records, file.name);
  corpus.files.erase(std::remove_if(corpus.files.begin(), corpus.files.end(), is_text), corpus.files.end());
  if (corpus.files.empty())
    throw base::DataError(
        base::say("'{}' has no .json, .jsonl or .csv files, which {} records need", source.path,
                  source.shape ? base::verbatim(word_of(source.shape->format)) : base::say("such")));
  corpus.bytes = 0;
  for (const CorpusFile& file : corpus.files) corpus.bytes += file.bytes;
  return corpus;
}

std::int64_t record_bytes(const std::string& stated, const config::DataSettings& settings) {
  std::int64_t bytes = 0;
  for (const Source& source : find_sources(stated, settings))
    if (shape_of_source(source).shape.format != Format::text) bytes += record_files(source).bytes;
  return bytes;
}

}  // namespace troika::data
