#include "data/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "data/shard_format.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "token shards are read in place and are little-endian"
#endif

namespace troika::data {

static const char* const remedy = "delete it and prepare the data again ('troika data prepare')";

static void check_contents(const base::MappedFile& file, const ShardHeader& header, const std::string& path) {
  const std::string found = base::hash_bytes(file.text().substr(shard_header_bytes));
  if (found != header.payload_hash) {
    throw base::DataError(fmt::format("'{}' is damaged: the hash of its contents is {}, its header says {}; {}", path,
                                      found, header.payload_hash, remedy));
  }
}

TokenShard::TokenShard(const std::string& path, Verify verify)
    : path_(path), file_(path), tokens_(nullptr), ends_(nullptr) {
  header_ = decode_shard_header(file_.text(), path);
  const std::size_t expected = shard_file_bytes(header_);
  if (file_.size() != expected) {
    throw base::DataError(
        fmt::format("'{}' is {}: its header ({} tokens, {} documents) asks for {} bytes, the file has {}; {}", path,
                    file_.size() < expected ? "truncated" : "too long", header_.tokens, header_.documents, expected,
                    file_.size(), remedy));
  }
  tokens_ = file_.data() + shard_header_bytes;
  ends_ = tokens_ + padded_token_bytes(header_);
  if (verify == Verify::contents) check_contents(file_, header_, path);
  const std::int64_t last = header_.documents == 0 ? 0 : document_end(header_.documents - 1);
  if (last != header_.tokens) {
    throw base::DataError(fmt::format("'{}' is damaged: its last document ends at token {}, but it has {} tokens; {}",
                                      path, last, header_.tokens, remedy));
  }
}

template <class Stored>
static std::int64_t widen(const std::byte* from, std::int64_t count, std::int32_t* out) {
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Stored id;
    std::memcpy(&id, from + static_cast<std::size_t>(i) * sizeof id, sizeof id);
    largest = std::max<std::int64_t>(largest, id);
    out[i] = static_cast<std::int32_t>(id);
  }
  return largest;
}

void TokenShard::read(std::int64_t first, std::int64_t count, std::int32_t* out) const {
  if (first < 0 || count < 0 || first > header_.tokens - count) {
    throw base::BugError(
        fmt::format("tokens {} to {} asked from '{}', which has {}", first, first + count, path_, header_.tokens));
  }
  const std::byte* from = tokens_ + first * header_.bytes_per_token;
  const std::int64_t largest =
      header_.bytes_per_token == 2 ? widen<std::uint16_t>(from, count, out) : widen<std::uint32_t>(from, count, out);
  if (largest >= header_.vocab_size) {
    throw base::DataError(
        fmt::format("'{}' is damaged: between tokens {} and {} stands the id {}, but the vocabulary has {}; {}", path_,
                    first, first + count, largest, header_.vocab_size, remedy));
  }
}

std::int64_t TokenShard::document_end(std::int64_t index) const {
  std::int64_t end = 0, previous = 0;
  std::memcpy(&end, ends_ + index * 8, sizeof end);
  if (index > 0) std::memcpy(&previous, ends_ + (index - 1) * 8, sizeof previous);
  if (end <= previous || previous < 0 || end > header_.tokens) {
    throw base::DataError(fmt::format("'{}' is damaged: document {} has tokens {} to {} of {}; {}", path_, index,
                                      previous, end, header_.tokens, remedy));
  }
  return end;
}

std::int64_t TokenShard::document_at(std::int64_t token) const {
  std::int64_t low = 0, high = header_.documents;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (document_end(middle) > token) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace troika::data
