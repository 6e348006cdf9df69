#include "datasets/sequence_format.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/error.h"
#include "base/file.h"

namespace troika::datasets {

static constexpr std::string_view magic = "TRSEQUEN";
static constexpr std::size_t hash_characters = 16, numbers = 10;
static constexpr std::int64_t version = 1;

std::string encode_header(const SequenceHeader& header) {
  const SequenceCounts& c = header.counts;
  const std::array<std::int64_t, numbers> values{
      version,  header.bytes_per_id, header.vocab_size, header.payload_bytes, c.sequences,
      c.tokens, c.loss_tokens,       c.records,         c.without_answer,     c.duplicates};
  std::string bytes(magic);
  bytes.append(reinterpret_cast<const char*>(values.data()), 8 * numbers);
  bytes += header.payload_hash;
  bytes.resize(sequence_header_bytes - hash_characters, '\0');
  return bytes + base::hash_bytes(bytes);
}

SequenceHeader decode_header(std::string_view file, const std::string& path) {
  const std::string_view content = file.substr(0, sequence_header_bytes - hash_characters);
  const bool whole = file.size() >= sequence_header_bytes && content.substr(0, magic.size()) == magic &&
                     file.substr(content.size(), hash_characters) == base::hash_bytes(content);
  if (!whole) throw base::DataError(fmt::format("'{}' is no sequence file, or its header is damaged", path));
  std::array<std::int64_t, numbers> v{};
  std::memcpy(v.data(), file.data() + magic.size(), 8 * numbers);
  if (v[1] != 2 && v[1] != 4) throw base::DataError(fmt::format("'{}' has ids of {} bytes, not 2 or 4", path, v[1]));
  if (v[0] != version) throw base::DataError(fmt::format("'{}' has version {}, not {}", path, v[0], version));
  SequenceHeader header;
  header.bytes_per_id = v[1];
  header.vocab_size = v[2];
  header.payload_bytes = v[3];
  header.counts = {v[7], v[8], v[9], v[4], v[5], v[6]};
  header.payload_hash = std::string(file.substr(magic.size() + 8 * numbers, hash_characters));
  return header;
}

std::int64_t bytes_of(std::int64_t length, std::int64_t bytes_per_id) {
  return length * bytes_per_id + (length + 7) / 8;
}

std::int64_t length_of(std::int64_t bytes, std::int64_t bytes_per_id) { return 8 * bytes / (8 * bytes_per_id + 1); }

}  // namespace troika::datasets
