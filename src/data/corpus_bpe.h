// Trains a byte-level BPE tokenizer on files of text.
#pragma once

#include <string>
#include <vector>

#include "data/made_once.h"
#include "tokenizer/bpe_trainer.h"

namespace troika::data {

// Counts the words of all documents (exact duplicates once, pieces longer than 256 bytes not at all) and trains on
// them. The result does not depend on the number of workers.
tokenizer::BpeModel train_bpe_on_files(const std::vector<std::string>& inputs,
                                       const tokenizer::BpeTrainerOptions& options, const OnProgress& on_progress);

}  // namespace troika::data
