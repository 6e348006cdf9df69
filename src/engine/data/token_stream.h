// Prepared tokens as one stream, and as samples of a fixed length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/samples.h"
#include "data/shards.h"

namespace troika::data {

// All shards one after the other. Threads: const use is safe.
class TokenStream {
 public:
  // A shard folder or a single .bin file. Contents are verified by hash up to 256 MiB in all; above that lengths and headers,
  // and each piece when it is read first. Shards without hashes of their pieces have only the range of ids checked then.
  // Throws DataError.
  static TokenStream open(const std::string& path);
  static TokenStream open(const std::string& path, Verify verify);

  std::int64_t tokens() const { return starts_.back(); }
  std::int64_t documents() const { return documents_; }
  std::int64_t vocab_size() const { return shards_.front().header().vocab_size; }
  const std::string& tokenizer_fingerprint() const { return shards_.front().header().tokenizer_fingerprint; }
  const std::string& path() const { return path_; }
  const std::vector<TokenShard>& shards() const { return shards_; }

  // The bytes of shards in which damage may stay unnoticed.
  std::int64_t unverified_bytes() const;

  // 16 hex digits over tokenizer and contents as they were made; the same on every host that prepared the same data.
  std::string fingerprint() const;

  // Copies tokens [first, first + count) to `out`.
  void read(std::int64_t first, std::int64_t count, std::int32_t* out) const;

  // Offsets (from `first`) in [1, count) at which a document begins, ascending.
  std::vector<std::int64_t> document_starts(std::int64_t first, std::int64_t count) const;

 private:
  TokenStream(std::string path, std::vector<TokenShard> shards);
  std::size_t shard_of(std::int64_t token) const;

  std::string path_;
  std::vector<TokenShard> shards_;
  std::vector<std::int64_t> starts_;  // first token of each shard, and the total
  std::int64_t documents_ = 0;
};

// The tokens that do not fill the last sample.
enum class Tail { left_out, kept };

// Sample i of length T is tokens [i*T, i*T + T]: T inputs and the T tokens that follow each of them. Tail::kept, for evaluation: the
// last sample ends with the stream, so every token but the first is a target once.
// Threads: const use is safe.
class TokenSamples final : public Samples {
 public:
  // Throws DataError when the stream has fewer than seq_len + 1 tokens, with Tail::kept fewer than two. It names the stream's path, or
  // what the user calls it.
  TokenSamples(std::shared_ptr<const TokenStream> stream, std::int64_t seq_len, const std::string& name = "",
               Tail tail = Tail::left_out);

  std::int64_t samples() const override;
  std::int64_t seq_len() const override { return seq_len_; }
  void read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const override;
  std::vector<std::int64_t> lengths(std::int64_t sample) const override { return {inputs_of(sample)}; }
  std::vector<std::int64_t> document_starts(std::int64_t sample) const override;
  bool are_full() const override { return inputs_of(samples() - 1) == seq_len_; }
  std::string fingerprint() const override;  // over the stream's, seq_len and the tail

 private:
  std::int64_t inputs_of(std::int64_t sample) const;

  const std::shared_ptr<const TokenStream> stream_;
  const std::int64_t seq_len_;
  const Tail tail_;
};

}  // namespace troika::data
