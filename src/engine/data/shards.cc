#include "data/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/mapping_guard.h"
#include "base/say.h"
#include "base/descriptor.h"
#include "data/encoded_chunk.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "token shards are read in place and are little-endian"
#endif

namespace troika::data {

static base::Text prepare_again() { return base::say("delete it and prepare the data again ('troika data prepare')"); }

static void check_contents(const base::MappedFile& file, const ShardHeader& header, const std::string& path) {
  const std::string found = hash_and_drop(file, shard_header_bytes);
  if (found != header.payload_hash)
    throw base::DataError(base::say("'{}' is damaged: the hash of its contents is {}, but its header has {}; {}", path, found, header.payload_hash, prepare_again()));
}

TokenShard::TokenShard(const std::string& path, Verify verify)
    : path_(path), file_(path), tokens_(nullptr), ends_(nullptr) {
  base::while_reading(file_, [&] {
    header_ = decode_shard_header(file_.text(), path);
    const std::size_t expected = shard_file_bytes(header_);
    if (file_.size() != expected)
      throw base::DataError(base::say(file_.size() < expected ? base::Phrase("'{}' is truncated: its header ({} tokens, {} documents) implies {} bytes, the file has {}; {}") : base::Phrase("'{}' is too long: its header ({} tokens, {} documents) implies {} bytes, the file has {}; {}"), path,
                                      header_.tokens, header_.documents, expected, file_.size(), prepare_again()));
    if (verify == Verify::contents) check_contents(file_, header_, path);
  });
  verified_ = verify == Verify::contents;
  tokens_ = file_.data() + shard_header_bytes;
  ends_ = tokens_ + padded_token_bytes(header_);
  if (auto hashes = verified_ ? std::nullopt : read_piece_hashes(path)) {
    pieces_ = std::make_unique<VerifiedPieces>(path, file_.text().substr(shard_header_bytes), shard_header_bytes,
                                               std::move(*hashes), header_.payload_hash);
  }
  const std::int64_t last = header_.documents == 0 ? 0 : document_end(header_.documents - 1);
  if (last != header_.tokens)
    throw base::DataError(base::say("'{}' is damaged: its last document ends at token {}, but it has {} tokens; {}", path, last, header_.tokens, prepare_again()));
}

void TokenShard::verify(const std::byte* from, std::int64_t bytes) const {
  if (pieces_ != nullptr) pieces_->verify(static_cast<std::size_t>(from - tokens_), static_cast<std::size_t>(bytes));
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
  if (first < 0 || count < 0 || first > header_.tokens - count)
    throw base::BugError(
        fmt::format("tokens {} to {} requested of '{}', which has {}", first, first + count, path_, header_.tokens));
  base::while_reading(file_, [&] { copy(first, count, out); });
}

void TokenShard::copy(std::int64_t first, std::int64_t count, std::int32_t* out) const {
  const std::byte* from = tokens_ + first * header_.bytes_per_token;
  verify(from, count * header_.bytes_per_token);
  const std::int64_t largest =
      header_.bytes_per_token == 2 ? widen<std::uint16_t>(from, count, out) : widen<std::uint32_t>(from, count, out);
  if (largest >= header_.vocab_size)
    throw base::DataError(
        base::say("'{}' is damaged: between tokens {} and {} it has the id {}, but the vocabulary has only {}; {}", path_, first, first + count, largest, header_.vocab_size, prepare_again()));
}

std::int64_t TokenShard::stored_end(std::int64_t index) const {
  std::int64_t end = 0;
  verify(ends_ + index * 8, sizeof end);
  std::memcpy(&end, ends_ + index * 8, sizeof end);
  return end;
}

std::int64_t TokenShard::document_end(std::int64_t index) const {
  std::int64_t end = 0, previous = 0;
  base::while_reading(file_, [&] {
    end = stored_end(index);
    if (index > 0) previous = stored_end(index - 1);
  });
  if (end <= previous || previous < 0 || end > header_.tokens)
    throw base::DataError(
        base::say("'{}' is damaged: document {} spans tokens {} to {} of {}; {}", path_, index, previous, end, header_.tokens, prepare_again()));
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

static constexpr std::string_view shard_magic = "TRTOKENS";
static constexpr std::uint64_t shard_version = 1;
static constexpr std::size_t checked_bytes = shard_header_bytes - 16;  // covered by the hash at the end of the header

static void put(std::uint64_t value, std::size_t bytes, std::string* out) {
  for (std::size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

static std::uint64_t get(std::string_view file, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{static_cast<unsigned char>(file[at + i])} << (8 * i);
  return value;
}

std::size_t padded_token_bytes(const ShardHeader& header) {
  return (static_cast<std::size_t>(header.tokens) * static_cast<std::size_t>(header.bytes_per_token) + 7) / 8 * 8;
}

std::size_t shard_file_bytes(const ShardHeader& header) {
  return shard_header_bytes + padded_token_bytes(header) + 8 * static_cast<std::size_t>(header.documents);
}

std::string encode_shard_header(const ShardHeader& header) {
  std::string bytes(shard_magic);
  put(shard_version, 4, &bytes);
  put(static_cast<std::uint64_t>(header.bytes_per_token), 4, &bytes);
  put(static_cast<std::uint64_t>(header.tokens), 8, &bytes);
  put(static_cast<std::uint64_t>(header.documents), 8, &bytes);
  put(static_cast<std::uint64_t>(header.vocab_size), 8, &bytes);
  put(std::stoull(header.tokenizer_fingerprint, nullptr, 16), 8, &bytes);
  put(std::stoull(header.payload_hash, nullptr, 16), 8, &bytes);
  put(0, 8, &bytes);
  bytes += base::hash_bytes(bytes);
  return bytes;
}

ShardHeader decode_shard_header(std::string_view file, const std::string& path) {
  if (file.size() < shard_header_bytes)
    throw base::DataError(base::say("'{}' holds {} bytes, but a token shard begins with a header of {}: it is empty or truncated; {}", path, file.size(), shard_header_bytes, prepare_again()));
  if (file.substr(0, shard_magic.size()) != shard_magic)
    throw base::DataError(base::say("'{}' is not a token shard: it does not begin with '{}'; give a text file, a folder or shards made by 'troika data prepare'", path, shard_magic));
  if (get(file, 8, 4) != shard_version)
    throw base::DataError(base::say("'{}' is a token shard of shard_version {}, and this program reads shard_version {}; {}", path, get(file, 8, 4), shard_version, prepare_again()));
  const std::string stored(file.substr(checked_bytes, 16)), actual = base::hash_bytes(file.substr(0, checked_bytes));
  const auto field = [&](std::size_t at, std::size_t bytes) { return static_cast<std::int64_t>(get(file, at, bytes)); };
  ShardHeader header{field(16, 8), field(24, 8), field(32, 8), field(12, 4), "", ""};
  header.tokenizer_fingerprint = fmt::format("{:016x}", get(file, 40, 8));
  header.payload_hash = fmt::format("{:016x}", get(file, 48, 8));
  constexpr std::int64_t most = std::int64_t{1} << 48;  // keeps sizes computed from a forged header in range
  const bool sane = header.tokens >= 0 && header.tokens < most && header.documents >= 0 && header.documents < most &&
                    header.vocab_size > 0 && header.vocab_size < (std::int64_t{1} << 31) &&
                    (header.bytes_per_token == 2 || header.bytes_per_token == 4);
  if (stored != actual || !sane)
    throw base::DataError(base::say("the header of '{}' is damaged (its hash is {}, but {} is stored); {}", path, actual, stored, prepare_again()));
  return header;
}

ShardWriter::ShardWriter(const std::string& path, std::int64_t vocab_size, const std::string& tokenizer_fingerprint)
    : path_(path), file_(path, shard_header_bytes) {
  header_.vocab_size = vocab_size;
  header_.bytes_per_token = vocab_size <= narrow_vocab_size ? 2 : 4;
  header_.tokenizer_fingerprint = tokenizer_fingerprint;
}

void ShardWriter::write(const void* bytes, std::size_t size) {
  const std::string_view all(static_cast<const char*>(bytes), size);
  file_.add(all);
  pieces_.add(all);
}

static void check_ids(const std::vector<std::int32_t>& ids, std::int64_t vocab_size) {
  for (const std::int32_t id : ids)
    if (id < 0 || id >= vocab_size)
      throw base::BugError(fmt::format("the tokenizer gave the id {}, but its vocabulary has {}", id, vocab_size));
}

void ShardWriter::append(const std::vector<std::int32_t>& ids) {
  std::uint32_t bits = 0;  // no id is larger
  for (const std::int32_t id : ids) bits |= static_cast<std::uint32_t>(id);
  if (bits >= header_.vocab_size) check_ids(ids, header_.vocab_size);
  if (header_.bytes_per_token == 2) {
    narrow_ids(ids, &narrow_);
    write(narrow_.data(), 2 * narrow_.size());
  } else {
    write(ids.data(), 4 * ids.size());
  }
  header_.tokens += static_cast<std::int64_t>(ids.size());
}

void ShardWriter::end_document() {
  const auto end = static_cast<std::uint64_t>(header_.tokens);
  if (end > (ends_.empty() ? 0 : ends_.back())) ends_.push_back(end);
}

ShardHeader ShardWriter::finish() {
  const auto end = static_cast<std::uint64_t>(header_.tokens);
  if (end != (ends_.empty() ? 0 : ends_.back())) throw base::BugError("a shard was finished inside a document");
  const std::string padding(
      padded_token_bytes(header_) - static_cast<std::size_t>(header_.tokens * header_.bytes_per_token), '\0');
  write(padding.data(), padding.size());
  write(ends_.data(), 8 * ends_.size());
  header_.documents = static_cast<std::int64_t>(ends_.size());
  header_.payload_hash = file_.hash();
  file_.close_with(encode_shard_header(header_));
  base::write_file_atomic(piece_hashes_path(path_), encode_piece_hashes({header_.payload_hash, pieces_.finish()}));
  file_.publish();
  return header_;
}

}  // namespace troika::data
