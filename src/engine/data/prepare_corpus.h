// The steps that prepare and prepare_once share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/corpus.h"
#include "data/encoded_chunk.h"
#include "data/prepare.h"
#include "data/shard_index.h"
#include "data/shards.h"
#include "tokenizer/tokenizer.h"

namespace troika::data {

// 16 hex digits over all that decides the shards; reads the whole corpus.
std::string source_key(const Corpus& corpus, const tokenizer::Tokenizer& tokenizer, const PrepareOptions& options);

void count_shards(const ShardIndex& index, PrepareReport* report);

// Tokenizes `corpus` into `folder`, which must not be there. `source`: its source_key.
PrepareReport prepare_corpus(const Corpus& corpus, const std::string& source, const tokenizer::Tokenizer& tokenizer,
                             const std::string& folder, const PrepareOptions& options, const OnProgress& on_progress);

// Writes documents into as many shards as they fill: one ends with the document that reaches `tokens_per_shard`. Each
// document ends with the tokenizer's end mark. DataError when the disk refuses. One thread at a time.
class ShardSet {
 public:
  ShardSet(std::string folder, const tokenizer::Tokenizer& tokenizer, std::int64_t tokens_per_shard);

  void add(const EncodedPart& part);  // in the order of the documents
  std::int64_t tokens() const { return finished_tokens_ + (writer_ ? writer_->tokens() : 0); }
  ShardIndex finish(const std::string& source);  // writes the index, which names `source`

 private:
  void close_shard();

  std::string folder_, name_;
  std::int32_t end_;
  std::int64_t tokens_per_shard_;
  ShardIndex index_;
  std::optional<ShardWriter> writer_;
  std::int64_t finished_tokens_ = 0;
};

}  // namespace troika::data
