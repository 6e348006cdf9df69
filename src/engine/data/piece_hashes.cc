#include "data/piece_hashes.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"

namespace troika::data {

static constexpr std::string_view hashes_magic = "TRHASHES";
static constexpr std::uint64_t hashes_version = 1;
static constexpr std::size_t hashes_header_bytes = 48, closing_hash_bytes = 16;

std::string piece_hashes_path(const std::string& shard) { return shard + ".hashes"; }

std::string encode_piece_hashes(const PieceHashes& hashes) {
  const std::array<std::uint64_t, 3> numbers{hashes_version, hashed_piece_bytes, hashes.pieces.size()};
  std::string bytes(hashes_magic);
  bytes.append(reinterpret_cast<const char*>(numbers.data()), 8 * numbers.size());
  bytes += hashes.payload_hash;
  bytes.append(reinterpret_cast<const char*>(hashes.pieces.data()), 8 * hashes.pieces.size());
  return bytes + base::hash_bytes(bytes);
}

PieceHashes decode_piece_hashes(std::string_view bytes, const std::string& path) {
  const auto refuse = [&](const base::Text& why) {
    throw base::DataError(base::say("'{}' {}; copy it again with its shard, or delete both and prepare the data again ('troika data prepare')", path, why));
  };
  const std::size_t least = hashes_header_bytes + closing_hash_bytes;
  if (bytes.size() < least || bytes.substr(0, hashes_magic.size()) != hashes_magic)
    refuse(base::say("holds no hashes of a shard ({} bytes)", bytes.size()));
  const std::string_view content = bytes.substr(0, bytes.size() - closing_hash_bytes);
  if (bytes.substr(content.size()) != base::hash_bytes(content)) refuse(base::say("is damaged: its own hash differs"));
  std::array<std::uint64_t, 3> numbers{};
  std::memcpy(numbers.data(), bytes.data() + hashes_magic.size(), 8 * numbers.size());
  if (numbers[0] != hashes_version || numbers[1] != hashed_piece_bytes)
    refuse(base::say("has version {} and pieces of {} bytes, but this program reads version {} and {}", numbers[0], numbers[1], hashes_version, hashed_piece_bytes));
  if (numbers[2] != (bytes.size() - least) / 8 || bytes.size() % 8 != 0)
    refuse(base::say("should hold {} hashes, but has {} bytes", numbers[2], bytes.size()));
  PieceHashes hashes{std::string(bytes.substr(32, 16)), std::vector<std::uint64_t>(numbers[2])};
  if (numbers[2] > 0) std::memcpy(hashes.pieces.data(), bytes.data() + hashes_header_bytes, 8 * numbers[2]);
  return hashes;
}

std::optional<PieceHashes> read_piece_hashes(const std::string& shard) {
  const std::string path = piece_hashes_path(shard);
  if (!base::file_exists(path)) return std::nullopt;
  return decode_piece_hashes(base::read_file(path), path);
}

void PieceHasher::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t now = std::min(bytes.size(), hashed_piece_bytes - open_bytes_);
    hash_.add(bytes.data(), now);
    open_bytes_ = (open_bytes_ + now) % hashed_piece_bytes;
    bytes.remove_prefix(now);
    if (open_bytes_ == 0) end_piece();
  }
}

void PieceHasher::end_piece() {
  pieces_.push_back(hash_.digest());
  hash_.restart();
}

std::vector<std::uint64_t> PieceHasher::finish() {
  if (open_bytes_ > 0) end_piece();
  return std::move(pieces_);
}

VerifiedPieces::VerifiedPieces(const std::string& shard, std::string_view payload, std::size_t first_byte,
                               PieceHashes hashes, const std::string& payload_hash)
    : shard_(shard),
      payload_(payload),
      first_byte_(first_byte),
      hashes_(std::move(hashes.pieces)),
      sound_(std::make_unique<std::atomic<bool>[]>(hashes_.size())) {
  const std::size_t pieces = (payload.size() + hashed_piece_bytes - 1) / hashed_piece_bytes;
  if (hashes.payload_hash == payload_hash && hashes_.size() == pieces) return;
  throw base::DataError(base::say("'{0}' does not belong to the shard '{1}' ({2} pieces of contents with hash {3}, here {4} with {5}): copy both from one folder, or prepare the data again ('troika data prepare')", piece_hashes_path(shard), shard, hashes_.size(),
                                  hashes.payload_hash, pieces, payload_hash));
}

void VerifiedPieces::verify(std::size_t begin, std::size_t bytes) const {
  if (bytes == 0) return;
  const std::size_t last = (begin + bytes - 1) / hashed_piece_bytes;
  for (std::size_t piece = begin / hashed_piece_bytes; piece <= last; ++piece)
    if (!sound_[piece].load(std::memory_order_relaxed)) verify_piece(piece);
}

void VerifiedPieces::verify_piece(std::size_t piece) const {
  const std::size_t begin = piece * hashed_piece_bytes;
  const std::string_view bytes = payload_.substr(begin, hashed_piece_bytes);
  const std::uint64_t found = ::XXH3_64bits(bytes.data(), bytes.size());
  if (found == hashes_[piece]) return sound_[piece].store(true, std::memory_order_relaxed);
  throw base::DataError(base::say("'{}' is damaged between bytes {} and {}: their hash is {:016x}, instead of {:016x} in '{}'; copy it again, or delete it and prepare the data again ('troika data prepare')", shard_, first_byte_ + begin,
                                  first_byte_ + begin + bytes.size(), found, hashes_[piece],
                                  piece_hashes_path(shard_)));
}

}  // namespace troika::data
