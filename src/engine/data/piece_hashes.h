// Hashes of the pieces of a token shard, in a file beside it, so that a reader verifies what it reads and no more.
// docs/formats/token-shards.md describes the bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/stream_hash.h"

namespace troika::data {

// About what the system reads ahead when one page of a mapped file is missing, so verifying asks the disk for nothing more.
inline constexpr std::size_t hashed_piece_bytes = 128 << 10;

struct PieceHashes {
  std::string payload_hash;  // of the shard they belong to; 16 hex digits
  std::vector<std::uint64_t>
      pieces;  // XXH3 (64 bit) of every hashed_piece_bytes of its payload; the last may be shorter
};

std::string piece_hashes_path(const std::string& shard);  // "tokens-00000.bin.hashes"

std::string encode_piece_hashes(const PieceHashes& hashes);
// DataError naming `path` when the bytes are not a whole, undamaged file of this format.
PieceHashes decode_piece_hashes(std::string_view bytes, const std::string& path);

// Those beside a shard; nothing where there is no such file.
std::optional<PieceHashes> read_piece_hashes(const std::string& shard);

// Cuts a stream of bytes into pieces. One thread.
class PieceHasher {
 public:
  void add(std::string_view bytes);
  std::vector<std::uint64_t> finish();  // once, at the end

 private:
  void end_piece();

  base::StreamHash hash_;
  std::size_t open_bytes_ = 0;  // of the piece that is open
  std::vector<std::uint64_t> pieces_;
};

// A payload of which each piece is verified when it is asked for first. Threads: const use is safe.
class VerifiedPieces {
 public:
  // DataError when the hashes are not those of this shard. `payload` must outlive the object; `first_byte` is its place in the
  // file, `payload_hash` what the shard's header says.
  VerifiedPieces(const std::string& shard, std::string_view payload, std::size_t first_byte, PieceHashes hashes,
                 const std::string& payload_hash);

  // DataError naming the bytes of the file when a piece that holds some of [begin, begin + bytes) of the payload is damaged.
  void verify(std::size_t begin, std::size_t bytes) const;

 private:
  void verify_piece(std::size_t piece) const;

  const std::string shard_;
  const std::string_view payload_;
  const std::size_t first_byte_;
  const std::vector<std::uint64_t> hashes_;
  const std::unique_ptr<std::atomic<bool>[]> sound_;  // by piece
};

}  // namespace troika::data
