// What a source holds, and in which files.
#pragma once

#include "data/corpus.h"
#include "datasets/record_shape.h"
#include "datasets/source.h"

namespace troika::datasets {

// `shape` is stated, or found out by the first record. A .json file, or a folder whose files are all .json or .jsonl,
// holds records; other folders and files, .jsonl files apart, hold text. `json_files` says how text is to be read.
// A folder of unstated shape must not hold such records as text is not read from, beside other files.
struct SourceShape {
  RecordShape shape;
  data::JsonFiles json_files = data::JsonFiles::documents;
};

// DataError when a JSON file is of no known format, and for such a folder.
SourceShape shape_of_source(const Source& source);

// The files of a source of records. DataError when there are none.
data::Corpus record_files(const Source& source);

}  // namespace troika::datasets
