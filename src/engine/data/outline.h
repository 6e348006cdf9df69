// What is known of data before they are tokenized.
#pragma once

#include <cstdint>
#include <string>

#include "config/settings/settings.h"

namespace troika::data {

// full: every sample has seq_len tokens, as those of text and shards have, which form one stream. uneven: some sources hold
// conversations or lines of ids, a sample each.
enum class Filling { full, uneven };

struct Outline {
  Filling filling = Filling::full;
  std::int64_t record_bytes = 0;  // of the files whose records are samples
};

// `stated`: data.train or data.valid. Reads the first record of each source at most. DataError as find_sources and
// shape_of_source.
Outline outline_of(const std::string& stated, const config::DataSettings& settings);

}  // namespace troika::data
