// Token shards: token ids on disk, memory-mapped. docs/formats/token-shards.md describes the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "data/hashed_file.h"
#include "data/piece_hashes.h"

namespace troika::data {

struct ShardHeader {
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
  std::int64_t vocab_size = 0;
  std::int64_t bytes_per_token = 2;   // 2 up to a vocabulary of 65536, else 4
  std::string tokenizer_fingerprint;  // 16 hex digits
  std::string payload_hash;           // 16 hex digits, over everything after the header
};

enum class Verify {
  lengths,   // header and file size; with hashes of its pieces beside it, each piece when it is read first
  contents,  // also the hash of everything after the header: reads the whole file
};

// One shard file, mapped. Movable. Threads: const use is safe.
class TokenShard {
 public:
  // Throws DataError (path, what is expected, what is found, remedy) for a file that is empty, truncated, too long, of
  // another kind or version, or damaged in the header, or with hashes beside it that are damaged or another shard's; with
  // Verify::contents also when damaged anywhere else.
  explicit TokenShard(const std::string& path, Verify verify = Verify::lengths);

  const ShardHeader& header() const { return header_; }
  const std::string& path() const { return path_; }

  // Whether damage is noticed wherever it is: by now, or when it is read.
  bool is_verified() const { return verified_ || pieces_ != nullptr; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(file_.size()); }

  // Copies tokens [first, first + count) to `out`. Throws DataError when one is not below the vocabulary size, lies in a
  // damaged piece or cannot be read; BugError when the range is not within the shard.
  void read(std::int64_t first, std::int64_t count, std::int32_t* out) const;

  // Token offset after document i (its end mark included), ascending in i, at most tokens. DataError when it is not, and as
  // read().
  std::int64_t document_end(std::int64_t index) const;

  // The first document whose end is greater than `token`; documents() when none is.
  std::int64_t document_at(std::int64_t token) const;

 private:
  void copy(std::int64_t first, std::int64_t count, std::int32_t* out) const;
  std::int64_t stored_end(std::int64_t index) const;
  void verify(const std::byte* from, std::int64_t bytes) const;

  std::string path_;
  ShardHeader header_;
  base::MappedFile file_;
  const std::byte* tokens_;
  const std::byte* ends_;
  bool verified_ = false;                   // as a whole
  std::unique_ptr<VerifiedPieces> pieces_;  // null: verified as a whole, or no hashes of pieces are there
};

// Writes one shard: documents one after the other, then finish(). The file appears under its name only then, with the hashes
// of its pieces beside it; without finish() nothing remains. Holds 8 bytes per document in memory. Throws DataError when the disk refuses. One thread at
// a time.
class ShardWriter {
 public:
  ShardWriter(const std::string& path, std::int64_t vocab_size, const std::string& tokenizer_fingerprint);

  // Appends ids to the current document; BugError for an id outside the vocabulary.
  void append(const std::vector<std::int32_t>& ids);
  void end_document();  // no effect for an empty document

  std::int64_t tokens() const { return header_.tokens; }

  // Syncs, renames and returns the header as written; the hashes of its pieces are beside it before. BugError when a
  // document is open.
  ShardHeader finish();

 private:
  void write(const void* bytes, std::size_t size);

  const std::string path_;
  ShardHeader header_;
  HashedFile file_;
  PieceHasher pieces_;
  std::vector<std::uint64_t> ends_;
  std::vector<std::uint16_t> narrow_;  // ids of one append
};

// The header of a token shard as bytes.
inline constexpr std::size_t shard_header_bytes = 80;

// Bytes the ids take, padding to a multiple of 8 included.
std::size_t padded_token_bytes(const ShardHeader& header);

// Size of the whole file.
std::size_t shard_file_bytes(const ShardHeader& header);

std::string encode_shard_header(const ShardHeader& header);

// Throws DataError naming `path` when `file` does not begin with a whole, undamaged header of this format.
ShardHeader decode_shard_header(std::string_view file, const std::string& path);

}  // namespace troika::data
