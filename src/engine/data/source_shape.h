// The contents of a source, and the files that hold them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/settings/settings.h"
#include "data/corpus.h"
#include "data/record_format.h"
#include "data/source.h"

namespace troika::data {

// `shape` is stated, or found out by the first record. A .json file, a table and a file of another ending whose contents say so, or a
// folder of nothing else, hold records; other folders and files, .jsonl files apart, hold text. `json_files` says how text is to be
// read. A folder of unstated shape must not hold such records as text is not read from, beside other files.
struct SourceShape {
  RecordShape shape;
  JsonFiles json_files = JsonFiles::documents;
  LeftOut left_out = {};                   // of text
  std::vector<std::string> not_utf8 = {};  // of text: files that have other bytes near their beginning
};

// DataError when a JSON file is of no known format, and for such a folder.
SourceShape shape_of_source(const Source& source);

// The files of a source of records; where the shape is stated, a file that is named itself whatever its ending. DataError when
// there are none.
Corpus record_files(const Source& source);

// The bytes of the files whose records are samples of data.train or data.valid (`stated`); 0: all is text or shards, of which every
// sample is full. Reads the first record of each source at most. DataError as find_sources and shape_of_source.
std::int64_t record_bytes(const std::string& stated, const config::DataSettings& settings);

// A look at what a source holds.
struct FirstRecord {
  std::string text;
  base::Text origin;
};
// The first record of a file; reads no more of it than needed. Nothing if it has none, or is text.
std::optional<FirstRecord> first_record(const CorpusFile& file);
// The first record of the first file that holds records.
std::optional<FirstRecord> first_record(const Corpus& corpus);

}  // namespace troika::data
