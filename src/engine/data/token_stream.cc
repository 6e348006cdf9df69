#include "data/token_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "data/shard_index.h"

namespace troika::data {

static constexpr std::int64_t verified_bytes = std::int64_t{256} << 20;

static void check_entry(const TokenShard& shard, const ShardIndex::Entry& entry, const ShardIndex& index) {
  const ShardHeader& header = shard.header();
  if (!entry.piece_hashes.empty() && !shard.is_verified())
    throw base::DataError(base::say("'{}' is missing, although index.json lists it with its shard: copy the whole folder again, or prepare the data again ('troika data prepare')", piece_hashes_path(shard.path())));
  if (header.tokens == entry.tokens && header.documents == entry.documents &&
      header.payload_hash == entry.payload_hash && header.vocab_size == index.vocab_size &&
      header.tokenizer_fingerprint == index.tokenizer_fingerprint) {
    return;
  }
  throw base::DataError(base::say("'{}' is not the shard its index.json describes ({} tokens with hash {}, expected {} with {}): prepare the data again ('troika data prepare')", shard.path(), header.tokens, header.payload_hash,
                                  entry.tokens, entry.payload_hash));
}

static std::vector<TokenShard> shards_at(const std::string& path, Verify verify) {
  std::vector<TokenShard> shards;
  if (!base::directory_exists(path)) {
    shards.emplace_back(path, verify);
    return shards;
  }
  const ShardIndex index = read_shard_index(path);
  for (const ShardIndex::Entry& entry : index.shards) {
    shards.emplace_back(path + "/" + entry.file, verify);
    check_entry(shards.back(), entry, index);
  }
  return shards;
}

static std::int64_t shard_bytes(const std::string& path) {
  if (!base::directory_exists(path)) return base::file_size(path);
  std::int64_t bytes = 0;
  for (const ShardIndex::Entry& entry : read_shard_index(path).shards)
    bytes += base::file_size(path + "/" + entry.file);
  return bytes;
}

TokenStream TokenStream::open(const std::string& path) {
  return open(path, shard_bytes(path) <= verified_bytes ? Verify::contents : Verify::lengths);
}

TokenStream TokenStream::open(const std::string& path, Verify verify) {
  return TokenStream(path, shards_at(path, verify));
}

TokenStream::TokenStream(std::string path, std::vector<TokenShard> shards)
    : path_(std::move(path)), shards_(std::move(shards)), starts_{0} {
  for (const TokenShard& shard : shards_) {
    starts_.push_back(starts_.back() + shard.header().tokens);
    documents_ += shard.header().documents;
  }
  if (starts_.back() == 0) throw base::DataError(base::say("'{}' holds no tokens: prepare it from text", path_));
}

std::int64_t TokenStream::unverified_bytes() const {
  std::int64_t bytes = 0;
  for (const TokenShard& shard : shards_) bytes += shard.is_verified() ? 0 : shard.bytes();
  return bytes;
}

std::string TokenStream::fingerprint() const {
  std::string all = fmt::format("{} {}", tokenizer_fingerprint(), vocab_size());
  for (const TokenShard& shard : shards_)
    all += fmt::format(" {} {}", shard.header().tokens, shard.header().payload_hash);
  return base::hash_bytes(all);
}

std::size_t TokenStream::shard_of(std::int64_t token) const {
  return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), token) - starts_.begin()) - 1;
}

void TokenStream::read(std::int64_t first, std::int64_t count, std::int32_t* out) const {
  if (first < 0 || count < 0 || first > tokens() - count)
    throw base::BugError(fmt::format("tokens {} to {} requested of a stream of {}", first, first + count, tokens()));
  for (std::size_t index = shard_of(first); count > 0; ++index) {
    const std::int64_t here = std::min(count, starts_[index + 1] - first);
    shards_[index].read(first - starts_[index], here, out);
    first += here;
    count -= here;
    out += here;
  }
}

std::vector<std::int64_t> TokenStream::document_starts(std::int64_t first, std::int64_t count) const {
  std::vector<std::int64_t> found;
  const std::int64_t last = std::min(first + count, tokens());
  for (std::size_t index = shard_of(first); index < shards_.size() && starts_[index] < last; ++index) {
    const TokenShard& shard = shards_[index];
    std::int64_t document = shard.document_at(std::max<std::int64_t>(first - starts_[index], 0));
    if (starts_[index] > first) found.push_back(starts_[index] - first);  // a shard begins with a document
    for (; document < shard.header().documents; ++document) {
      const std::int64_t start = starts_[index] + shard.document_end(document);  // the next document begins here
      if (start >= std::min(last, starts_[index + 1])) break;
      found.push_back(start - first);
    }
  }
  return found;
}

TokenSamples::TokenSamples(std::shared_ptr<const TokenStream> stream, std::int64_t seq_len, const std::string& name,
                           Tail tail)
    : stream_(std::move(stream)), seq_len_(seq_len), tail_(tail) {
  if (seq_len < 1) throw base::BugError(fmt::format("a sample length of {} was requested", seq_len));
  const std::string& shown = name.empty() ? stream_->path() : name;
  if (tail == Tail::kept && stream_->tokens() < 2)
    throw base::DataError(
        base::say("'{}' has {} tokens, but an evaluation needs at least 2: add text", shown, stream_->tokens()));
  if (tail == Tail::left_out && stream_->tokens() < seq_len + 1)
    throw base::DataError(base::say("'{}' holds {} tokens, but one sample of --seq-len {} needs {}: add text, or set --seq-len to at most {}", shown, stream_->tokens(),
                                    seq_len, seq_len + 1, stream_->tokens() - 1));
}

std::int64_t TokenSamples::samples() const {
  return tail_ == Tail::kept ? (stream_->tokens() - 2) / seq_len_ + 1 : (stream_->tokens() - 1) / seq_len_;
}

std::int64_t TokenSamples::inputs_of(std::int64_t sample) const {
  return std::min(seq_len_, stream_->tokens() - 1 - sample * seq_len_);
}

void TokenSamples::read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const {
  if (sample < 0 || sample >= samples())
    throw base::BugError(fmt::format("sample {} requested of {}", sample, samples()));
  const std::int64_t first = sample * seq_len_, count = inputs_of(sample);
  stream_->read(first, count, inputs);
  std::memcpy(targets, inputs + 1, static_cast<std::size_t>(count - 1) * sizeof *targets);
  stream_->read(first + count, 1, targets + count - 1);
}

std::vector<std::int64_t> TokenSamples::document_starts(std::int64_t sample) const {
  return stream_->document_starts(sample * seq_len_, inputs_of(sample));
}

std::string TokenSamples::fingerprint() const {
  return base::hash_bytes(
      fmt::format("{}{} {}", tail_ == Tail::kept ? "windows " : "", stream_->fingerprint(), seq_len_));
}

}  // namespace troika::data
