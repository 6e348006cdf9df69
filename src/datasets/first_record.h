// A look at what a source holds.
#pragma once

#include <optional>
#include <string>

#include "data/corpus.h"

namespace troika::datasets {

struct FirstRecord {
  std::string text, origin;
};
// Of a file; reads no more of it than needed. Nothing when it has none, or is text.
std::optional<FirstRecord> first_record(const data::CorpusFile& file);
// Of the first file that holds records.
std::optional<FirstRecord> first_record(const data::Corpus& corpus);

}  // namespace troika::datasets
