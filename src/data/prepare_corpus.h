// The steps that prepare and prepare_once share.
#pragma once

#include <string>

#include "data/corpus.h"
#include "data/prepare.h"
#include "data/shard_index.h"
#include "data/tokenizer.h"

namespace troika::data {

// 16 hex digits over all that decides the shards; reads the whole corpus.
std::string source_key(const Corpus& corpus, const Tokenizer& tokenizer, const PrepareOptions& options);

void count_shards(const ShardIndex& index, PrepareReport* report);

// Tokenizes `corpus` into `folder`, which must not be there. `source`: its source_key.
PrepareReport prepare_corpus(const Corpus& corpus, const std::string& source, const Tokenizer& tokenizer,
                             const std::string& folder, const PrepareOptions& options, const OnProgress& on_progress);

}  // namespace troika::data
