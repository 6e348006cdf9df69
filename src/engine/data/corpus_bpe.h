// Trains a byte-level BPE tokenizer on files of text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/made_once.h"
#include "tokenizer/bpe.h"

namespace troika::data {

struct TrainedBpe {
  tokenizer::BpeModel model;
  std::int64_t left_out_bytes = 0;  // of long pieces beyond most_long_bytes
};

// Counts the words of all documents (exact duplicates once) and trains on them. The result does not depend on the number of
// workers.
TrainedBpe train_bpe_on_files(const std::vector<std::string>& inputs, const tokenizer::BpeTrainerOptions& options,
                              const OnProgress& on_progress);

}  // namespace troika::data
