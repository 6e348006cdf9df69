// Token shards and the hashes of their pieces: the input as a file, and as a file whose hashes are right, which no chance finds.
#include <algorithm>
#include <string>
#include <vector>

#include "data/shards.h"
#include "fuzz/input.h"
#include "fuzz/memory_file.h"
#include "fuzz/outcome.h"

namespace troika::fuzz {
using data::TokenShard;

static void require_documents(const TokenShard& shard) {
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < shard.header().documents; ++i) {
    const std::int64_t end = shard.document_end(i);
    require(end > last && end <= shard.header().tokens, "documents end one after the other, inside the shard");
    last = end;
  }
  for (const std::int64_t token : {std::int64_t{0}, last / 2, last}) {
    const std::int64_t index = shard.document_at(token);
    require(index >= 0 && index <= shard.header().documents, "a document of the shard, or their number");
  }
}

static void read_shard(std::string_view content) {
  static MemoryFile file;
  file.set(content);
  accepted([&] {
    const TokenShard shard(file.path(), data::Verify::contents);
    accepted([&] { require_documents(shard); });
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min<std::int64_t>(shard.header().tokens, 1 << 16)));
    for (std::int64_t at = 0; at < shard.header().tokens; at += static_cast<std::int64_t>(ids.size())) {
      const auto count = std::min<std::int64_t>(static_cast<std::int64_t>(ids.size()), shard.header().tokens - at);
      shard.read(at, count, ids.data());
      for (std::int64_t i = 0; i < count; ++i) require(ids[static_cast<std::size_t>(i)] >= 0, "ids are not negative");
    }
  });
}

static void read_piece_hashes(const std::string& content) {
  accepted([&] {
    const data::PieceHashes hashes = data::decode_piece_hashes(content, "hashes");
    require(data::encode_piece_hashes(hashes) == content, "what is read is what is written");
  });
}

static void put_hash(std::string_view of, std::size_t at, std::string* content) {
  const std::uint64_t hash = std::stoull(base::hash_bytes(of), nullptr, 16);
  for (std::size_t i = 0; i < 8; ++i) (*content)[at + i] = static_cast<char>(hash >> (8 * i));
}

static std::string with_hashes(std::string_view input) {
  std::string content(input);
  const std::string_view view = content;
  put_hash(view.substr(data::shard_header_bytes), 48, &content);
  content.replace(64, 16, base::hash_bytes(view.substr(0, 64)));
  return content;
}

}  // namespace troika::fuzz

TROIKA_FUZZ_TARGET(token_shards)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  const std::string_view input = fuzz::text_of(data, size);
  fuzz::read_shard(input);
  fuzz::read_piece_hashes(std::string(input));
  fuzz::read_piece_hashes(std::string(input) + base::hash_bytes(input));
  if (size >= data::shard_header_bytes) fuzz::read_shard(fuzz::with_hashes(input));
  return 0;
}
