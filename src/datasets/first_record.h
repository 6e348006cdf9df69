// A look at what a source holds.
#pragma once

#include <optional>
#include <string>

#include "data/corpus.h"

namespace troika::datasets {

struct FirstRecord {
  std::string text, origin;
};
// Of the first file that holds records; reads no more of it than needed. Nothing when there are none.
std::optional<FirstRecord> first_record(const data::Corpus& corpus);

}  // namespace troika::datasets
