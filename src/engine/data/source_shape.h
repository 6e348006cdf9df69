// The contents of a source, and the files that hold them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/language.h"
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
