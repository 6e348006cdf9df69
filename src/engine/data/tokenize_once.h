// Conversations -> a sequence file, once per host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/corpus.h"
#include "data/encoded_chunk.h"
#include "data/made_once.h"
#include "data/sequence_file.h"

namespace troika::data {

enum class Equal { all_kept, first_kept };  // of equal sequences

struct TokenizeOptions {
  std::int64_t workers = 0;      // threads; 0: all cores. The file does not depend on it.
  std::int64_t max_records = 0;  // the first ones; 0: all
  Equal equal = Equal::first_kept;
};

// All records of `corpus`, at full length, in cache_folder/<hash of all that decides them>.sequences. The first process
// that comes makes it; the others wait, and receive its progress. What is done lies in parts of about 1 MiB of input
// beside it: after a kill the next process resumes there. DataError for bad records and when none has an answer.
std::shared_ptr<const SequenceFile> tokenize_once(const Corpus& corpus, const Encoding& encoding,
                                                  const std::string& cache_folder, const TokenizeOptions& options,
                                                  const OnProgress& on_progress);

}  // namespace troika::data
