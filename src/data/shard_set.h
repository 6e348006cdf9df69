// Documents -> a folder of token shards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/encoded_chunk.h"
#include "data/shard_index.h"
#include "data/shards.h"
#include "data/tokenizer.h"

namespace troika::data {

// Writes documents into as many shards as they fill: one ends with the document that reaches `tokens_per_shard`. Each
// document ends with the tokenizer's end mark. DataError when the disk refuses. One thread at a time.
class ShardSet {
 public:
  ShardSet(std::string folder, const Tokenizer& tokenizer, std::int64_t tokens_per_shard);

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
