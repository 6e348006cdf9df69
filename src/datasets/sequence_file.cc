#include "datasets/sequence_file.h"

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"
#include "data/loader.h"
#include "datasets/sequence_format.h"

namespace troika::datasets {

static constexpr std::int64_t verified_bytes = std::int64_t{256} << 20;

static void check_contents(std::string_view file, const SequenceHeader& header, const std::string& path) {
  const auto expected = static_cast<std::int64_t>(sequence_header_bytes) + header.payload_bytes;
  if (static_cast<std::int64_t>(file.size()) != expected)
    throw base::DataError(
        fmt::format("'{}' has {} bytes, not {}: it is truncated or damaged", path, file.size(), expected));
  if (header.payload_bytes > verified_bytes) return;
  if (base::hash_bytes(file.substr(sequence_header_bytes)) != header.payload_hash)
    throw base::DataError(fmt::format("'{}' is damaged: its contents have another hash than its header says", path));
}

SequenceFile::SequenceFile(const std::string& path) : path_(path), file_(path) {
  header_ = decode_header(file_.text(), path);
  check_contents(file_.text(), header_, path);
}

std::int64_t SequenceFile::end_of(std::int64_t sequence) const {
  if (sequence < 0) return 0;
  std::int64_t end = 0;
  const std::int64_t from_back = 8 * (header_.counts.sequences - sequence);
  std::memcpy(&end, file_.data() + file_.size() - from_back, 8);
  return end;
}

SequenceFile::Place SequenceFile::place_of(std::int64_t sequence) const {
  if (sequence < 0 || sequence >= count())
    throw base::BugError(fmt::format("sequence {} asked from a file of {}", sequence, count()));
  const std::int64_t begin = end_of(sequence - 1), end = end_of(sequence);
  if (begin < 0 || end <= begin || end > header_.payload_bytes)
    throw base::DataError(fmt::format("'{}' is damaged: sequence {} does not lie in it", path_, sequence));
  return {file_.data() + sequence_header_bytes + begin, length_of(end - begin, header_.bytes_per_id)};
}

std::int64_t SequenceFile::length(std::int64_t sequence) const { return place_of(sequence).length; }

template <class Id>
static void copy_ids(const std::byte* from, std::int64_t count, std::int32_t* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    Id id = 0;
    std::memcpy(&id, from + i * static_cast<std::int64_t>(sizeof id), sizeof id);
    to[i] = static_cast<std::int32_t>(id);
  }
}

void SequenceFile::read(std::int64_t sequence, std::int32_t* ids, std::int32_t* labels) const {
  const Place place = place_of(sequence);
  const std::byte* bits = place.begin + place.length * header_.bytes_per_id;
  if (header_.bytes_per_id == 2) copy_ids<std::uint16_t>(place.begin, place.length, ids);
  if (header_.bytes_per_id == 4) copy_ids<std::int32_t>(place.begin, place.length, ids);
  for (std::int64_t i = 0; i < place.length; ++i) {
    if (ids[i] < 0 || ids[i] >= header_.vocab_size)
      throw base::DataError(fmt::format("'{}' is damaged: sequence {} has the id {}", path_, sequence, ids[i]));
    const bool has_loss = (std::to_integer<int>(bits[i / 8]) >> (i % 8) & 1) != 0;
    labels[i] = has_loss ? ids[i] : data::no_target;
  }
}

std::string SequenceFile::fingerprint() const {
  return base::hash_bytes(
      fmt::format("sequences {} {} {}", header_.vocab_size, header_.counts.sequences, header_.payload_hash));
}

}  // namespace troika::datasets
