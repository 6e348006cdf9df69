#include "data/shard_set.h"

#include <fmt/format.h>

#include <utility>

namespace troika::data {

ShardSet::ShardSet(std::string folder, const Tokenizer& tokenizer, std::int64_t tokens_per_shard)
    : folder_(std::move(folder)), end_(tokenizer.end_of_document_id()), tokens_per_shard_(tokens_per_shard) {
  index_.vocab_size = tokenizer.vocab_size();
  index_.tokenizer_fingerprint = tokenizer.fingerprint();
}

void ShardSet::add(const EncodedPart& part) {
  if (!writer_) {
    name_ = fmt::format("tokens-{:05d}.bin", index_.shards.size());
    writer_.emplace(folder_ + "/" + name_, index_.vocab_size, index_.tokenizer_fingerprint);
  }
  writer_->append(part.ids);
  if (!part.ends) return;
  if (end_ >= 0) writer_->append({end_});
  writer_->end_document();
  if (writer_->tokens() >= tokens_per_shard_) close_shard();
}

ShardIndex ShardSet::finish(const std::string& source) {
  close_shard();
  index_.source = source;
  write_shard_index(folder_, index_);
  return index_;
}

void ShardSet::close_shard() {
  if (!writer_) return;
  const ShardHeader header = writer_->finish();
  writer_.reset();
  finished_tokens_ += header.tokens;
  index_.shards.push_back({name_, header.tokens, header.documents, header.payload_hash});
}

}  // namespace troika::data
