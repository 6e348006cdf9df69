#include "datasets/source_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "data/input_text.h"
#include "data/shard_index.h"
#include "datasets/conversations.h"
#include "datasets/first_record.h"
#include "datasets/member.h"

namespace troika::datasets {
namespace {

bool holds_records(const data::Corpus& corpus) {
  const auto is_json = [](const data::CorpusFile& file) { return file.layout != data::Layout::text; };
  return std::all_of(corpus.files.begin(), corpus.files.end(), is_json);
}

RecordShape detected_shape(const Source& source, const data::Corpus& corpus) {
  const std::optional<FirstRecord> first = first_record(corpus);
  if (!first) throw base::DataError(fmt::format("'{}' has no records: give a file that has some", source.path));
  try {
    return shape_of(base::parse_ordered_json(first->text, first->origin), source.text_key, first->origin);
  } catch (base::DataError& error) {
    error.add_context(
        "while finding out what the data are; --data.format says it, and text takes .json files as they are");
    throw;
  }
}

// The format of the first record where it is one that is known.
std::optional<Format> known_format(const data::CorpusFile& file, const std::string& text_key) {
  const std::optional<FirstRecord> first = first_record(file);
  if (!first) return std::nullopt;
  try {
    return shape_of(base::parse_ordered_json(first->text, first->origin), text_key, first->origin).format;
  } catch (const base::DataError&) {
    return std::nullopt;
  }
}

// Text takes .json files beside other files as they are, and of .jsonl files those that hold texts.
void refuse_records_beside_text(const Source& source, const data::Corpus& corpus) {
  const auto text = std::find_if(corpus.files.begin(), corpus.files.end(),
                                 [](const data::CorpusFile& file) { return file.layout == data::Layout::text; });
  for (const data::CorpusFile& file : corpus.files) {
    const std::optional<Format> format = known_format(file, source.text_key);
    const bool lines = data::ends_with(data::without_compression(file.name), ".jsonl");
    if (!format || (*format == Format::text && lines)) continue;
    throw base::DataError(fmt::format(
        "'{}' holds records ('{}': {}) beside text ('{}'): state --data.format, {} for its .json and .jsonl files "
        "alone, {}or put them into folders of their own",
        source.path, file.name, word_of(*format), text->name, word_of(*format),
        *format == Format::text ? "" : "text for all of it as it stands, "));
  }
}

// Stated as text: records of a .json file are taken where their first one has the text.
bool has_text(const data::Corpus& corpus, const std::string& text_key) {
  const std::optional<FirstRecord> first = first_record(corpus);
  if (!first) return false;
  try {
    return find_member(base::parse_ordered_json(first->text, first->origin), text_key) != nullptr;
  } catch (const base::DataError&) {  // not JSON: a text like any other
    return false;
  }
}

}  // namespace

SourceShape shape_of_source(const Source& source) {
  SourceShape result;
  if (data::looks_like_shards(source.path)) return result;
  const bool stated_text = source.shape && source.shape->format == Format::text;
  if (source.shape && !stated_text) return {*source.shape, data::JsonFiles::records};
  const data::Corpus corpus = data::find_corpus({source.path}, data::JsonFiles::records);
  if (!holds_records(corpus)) {
    if (!stated_text) refuse_records_beside_text(source, corpus);
    return result;
  }
  if (!stated_text) return {detected_shape(source, corpus), data::JsonFiles::records};
  if (has_text(corpus, source.text_key)) result.json_files = data::JsonFiles::records;
  return result;
}

data::Corpus record_files(const Source& source) {
  data::Corpus corpus = data::find_corpus({source.path}, data::JsonFiles::records);
  const auto is_text = [](const data::CorpusFile& file) { return file.layout == data::Layout::text; };
  corpus.files.erase(std::remove_if(corpus.files.begin(), corpus.files.end(), is_text), corpus.files.end());
  if (corpus.files.empty())
    throw base::DataError(fmt::format("'{}' has no .json or .jsonl files, which {} records need", source.path,
                                      source.shape ? word_of(source.shape->format) : "such"));
  corpus.bytes = 0;
  for (const data::CorpusFile& file : corpus.files) corpus.bytes += file.bytes;
  return corpus;
}

}  // namespace troika::datasets
