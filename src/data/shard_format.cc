#include "data/shard_format.h"

#include <fmt/format.h>

#include "base/error.h"

namespace troika::data {

static constexpr std::string_view magic = "TRTOKENS";
static constexpr std::uint64_t version = 1;
static constexpr std::size_t checked_bytes = shard_header_bytes - 16;  // covered by the hash at the end of the header
static const char* const remedy = "delete it and prepare the data again ('troika data prepare')";

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
  std::string bytes(magic);
  put(version, 4, &bytes);
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
  if (file.size() < shard_header_bytes) {
    throw base::DataError(
        fmt::format("'{}' holds {} bytes, but a token shard begins with a header of {}: it is empty or "
                    "truncated; {}",
                    path, file.size(), shard_header_bytes, remedy));
  }
  if (file.substr(0, magic.size()) != magic) {
    throw base::DataError(
        fmt::format("'{}' is not a token shard: it does not begin with '{}'; give a text file, a folder "
                    "or shards made by 'troika data prepare'",
                    path, magic));
  }
  if (get(file, 8, 4) != version) {
    throw base::DataError(fmt::format("'{}' is a token shard of version {}, and this program reads version {}; {}",
                                      path, get(file, 8, 4), version, remedy));
  }
  const std::string stored(file.substr(checked_bytes, 16)), actual = base::hash_bytes(file.substr(0, checked_bytes));
  const auto field = [&](std::size_t at, std::size_t bytes) { return static_cast<std::int64_t>(get(file, at, bytes)); };
  ShardHeader header{field(16, 8), field(24, 8), field(32, 8), field(12, 4), "", ""};
  header.tokenizer_fingerprint = fmt::format("{:016x}", get(file, 40, 8));
  header.payload_hash = fmt::format("{:016x}", get(file, 48, 8));
  constexpr std::int64_t most = std::int64_t{1} << 48;  // keeps sizes computed from a forged header in range
  const bool sane = header.tokens >= 0 && header.tokens < most && header.documents >= 0 && header.documents < most &&
                    header.vocab_size > 0 && header.vocab_size < (std::int64_t{1} << 31) &&
                    (header.bytes_per_token == 2 || header.bytes_per_token == 4);
  if (stored != actual || !sane) {
    throw base::DataError(fmt::format("the header of '{}' is damaged (its hash is {}, {} is written there); {}", path,
                                      actual, stored, remedy));
  }
  return header;
}

}  // namespace troika::data
