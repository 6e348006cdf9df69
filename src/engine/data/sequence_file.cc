#include "data/sequence_file.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/error.h"
#include "base/mapping_guard.h"
#include "base/say.h"
#include "base/descriptor.h"
#include "data/samples.h"

namespace troika::data {

static constexpr std::size_t hash_characters = 16;

static void check_contents(const base::MappedFile& file, const SequenceHeader& header, const std::string& path) {
  const auto payload_end = static_cast<std::int64_t>(sequence_header_bytes) + header.payload_bytes;
  const std::int64_t expected = payload_end + header.findings_bytes;
  if (static_cast<std::int64_t>(file.size()) != expected)
    throw base::DataError(base::say("'{}' has {} bytes, not {}: it is truncated or damaged", path, file.size(), expected));
  if (hash_and_drop(file, sequence_header_bytes, static_cast<std::size_t>(payload_end)) != header.payload_hash)
    throw base::DataError(base::say("'{}' is damaged: the hash of its contents differs from its header", path));
}

static Findings read_findings(const base::MappedFile& file, const SequenceHeader& header, const std::string& path) {
  if (header.findings_bytes == 0) return {};
  const std::string_view all = file.text().substr(file.size() - static_cast<std::size_t>(header.findings_bytes));
  const std::string_view text = all.substr(0, all.size() - std::min(all.size(), hash_characters));
  if (all.substr(text.size()) != base::hash_bytes(text))
    throw base::DataError(base::say("'{}' is damaged: the hash of its contents differs from its header", path));
  return Findings::from_text(text);
}

SequenceFile::SequenceFile(const std::string& path) : path_(path), file_(path) {
  base::while_reading(file_, [&] {
    header_ = decode_header(file_.text(), path);
    check_contents(file_, header_, path);
    findings_ = read_findings(file_, header_, path);
  });
}

std::int64_t SequenceFile::end_of(std::int64_t sequence) const {
  if (sequence < 0) return 0;
  std::int64_t end = 0;
  const std::int64_t from_back = 8 * (header_.counts.sequences - sequence) + header_.findings_bytes;
  std::memcpy(&end, file_.data() + file_.size() - from_back, 8);
  return end;
}

SequenceFile::StoredSequence SequenceFile::stored(std::int64_t sequence) const {
  if (sequence < 0 || sequence >= count())
    throw base::BugError(fmt::format("sequence {} requested of a file with {}", sequence, count()));
  std::int64_t begin = 0, end = 0;
  base::while_reading(file_, [&] {
    begin = end_of(sequence - 1);
    end = end_of(sequence);
  });
  if (begin < 0 || end <= begin || end > header_.payload_bytes)
    throw base::DataError(base::say("'{}' is damaged: sequence {} is outside the file", path_, sequence));
  return {file_.data() + sequence_header_bytes + begin, length_of(end - begin, header_.bytes_per_id)};
}

std::int64_t SequenceFile::length(std::int64_t sequence) const { return stored(sequence).length; }

template <class Id>
static void copy_ids(const std::byte* from, std::int64_t count, std::int32_t* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    Id id = 0;
    std::memcpy(&id, from + i * static_cast<std::int64_t>(sizeof id), sizeof id);
    to[i] = static_cast<std::int32_t>(id);
  }
}

void SequenceFile::read(std::int64_t sequence, std::int32_t* ids, std::int32_t* labels) const {
  base::while_reading(file_, [&] { copy(sequence, ids, labels); });
}

void SequenceFile::copy(std::int64_t sequence, std::int32_t* ids, std::int32_t* labels) const {
  const StoredSequence at = stored(sequence);
  const std::byte* bits = at.begin + at.length * header_.bytes_per_id;
  if (header_.bytes_per_id == 2) copy_ids<std::uint16_t>(at.begin, at.length, ids);
  if (header_.bytes_per_id == 4) copy_ids<std::int32_t>(at.begin, at.length, ids);
  for (std::int64_t i = 0; i < at.length; ++i) {
    if (ids[i] < 0 || ids[i] >= header_.vocab_size)
      throw base::DataError(base::say("'{}' is damaged: sequence {} has the id {}", path_, sequence, ids[i]));
    const bool has_loss = (std::to_integer<int>(bits[i / 8]) >> (i % 8) & 1) != 0;
    labels[i] = has_loss ? ids[i] : ignore_index;
  }
}

std::string SequenceFile::fingerprint() const {
  return base::hash_bytes(
      fmt::format("sequences {} {} {}", header_.vocab_size, header_.counts.sequences, header_.payload_hash));
}

static constexpr std::string_view sequence_magic = "TRSEQUEN";
static constexpr std::size_t numbers = 10;
static constexpr std::int64_t sequence_version = 2;

std::string encode_header(const SequenceHeader& header) {
  const SequenceCounts& c = header.counts;
  const std::array<std::int64_t, numbers> values{
      sequence_version, header.bytes_per_id, header.vocab_size, header.payload_bytes, c.sequences,
      c.tokens,         c.loss_tokens,       c.records,         c.without_answer,     c.duplicates};
  std::string bytes(sequence_magic);
  bytes.append(reinterpret_cast<const char*>(values.data()), 8 * numbers);
  bytes += header.payload_hash;
  bytes.append(reinterpret_cast<const char*>(&header.findings_bytes), 8);
  bytes.resize(sequence_header_bytes - hash_characters, '\0');
  return bytes + base::hash_bytes(bytes);
}

SequenceHeader decode_header(std::string_view file, const std::string& path) {
  const std::string_view content = file.substr(0, sequence_header_bytes - hash_characters);
  const bool whole = file.size() >= sequence_header_bytes &&
                     content.substr(0, sequence_magic.size()) == sequence_magic &&
                     file.substr(content.size(), hash_characters) == base::hash_bytes(content);
  if (!whole) throw base::DataError(base::say("'{}' is not a sequence file, or its header is damaged", path));
  std::array<std::int64_t, numbers> v{};
  std::memcpy(v.data(), file.data() + sequence_magic.size(), 8 * numbers);
  if (v[1] != 2 && v[1] != 4) throw base::DataError(base::say("'{}' has ids of {} bytes, not 2 or 4", path, v[1]));
  if (v[0] != sequence_version)
    throw base::DataError(base::say("'{}' has sequence_version {}, not {}", path, v[0], sequence_version));
  SequenceHeader header;
  header.bytes_per_id = v[1];
  header.vocab_size = v[2];
  header.payload_bytes = v[3];
  header.counts = {v[7], v[8], v[9], v[4], v[5], v[6]};
  const std::size_t hash_at = sequence_magic.size() + 8 * numbers;
  header.payload_hash = std::string(file.substr(hash_at, hash_characters));
  std::memcpy(&header.findings_bytes, file.data() + hash_at + hash_characters, 8);
  return header;
}

std::int64_t bytes_of(std::int64_t length, std::int64_t bytes_per_id) {
  return length * bytes_per_id + (length + 7) / 8;
}

std::int64_t length_of(std::int64_t bytes, std::int64_t bytes_per_id) { return 8 * bytes / (8 * bytes_per_id + 1); }

SequenceWriter::SequenceWriter(const std::string& path, std::int64_t vocab_size) : file_(path, sequence_header_bytes) {
  header_.vocab_size = vocab_size;
  header_.bytes_per_id = vocab_size <= 65536 ? 2 : 4;
}

void SequenceWriter::append(const std::int32_t* ids, const std::uint8_t* has_loss, std::int64_t length) {
  const auto width = static_cast<std::size_t>(header_.bytes_per_id), count = static_cast<std::size_t>(length);
  std::string bytes(static_cast<std::size_t>(bytes_of(length, header_.bytes_per_id)), '\0');
  for (std::size_t i = 0; i < count; ++i) {
    if (ids[i] < 0 || ids[i] >= header_.vocab_size)
      throw base::BugError(
          fmt::format("the tokenizer gave the id {}, but its vocabulary has {}", ids[i], header_.vocab_size));
    std::memcpy(&bytes[i * width], &ids[i], width);
    if (has_loss[i] != 0) bytes[count * width + i / 8] |= static_cast<char>(1 << (i % 8));
    header_.counts.loss_tokens += has_loss[i] != 0 ? 1 : 0;
  }
  file_.add(bytes);
  header_.payload_bytes += static_cast<std::int64_t>(bytes.size());
  ends_.push_back(static_cast<std::uint64_t>(header_.payload_bytes));
  ++header_.counts.sequences;
  header_.counts.tokens += length;
}

void SequenceWriter::finish(const SequenceCounts& counts, const Findings& findings) {
  file_.add({reinterpret_cast<const char*>(ends_.data()), 8 * ends_.size()});
  header_.payload_bytes += static_cast<std::int64_t>(8 * ends_.size());
  header_.payload_hash = file_.hash();
  if (!findings.none()) {
    const std::string text = findings.to_text(), all = text + base::hash_bytes(text);
    header_.findings_bytes = static_cast<std::int64_t>(all.size());
    file_.add(all);
  }
  header_.counts.records = counts.records;
  header_.counts.without_answer = counts.without_answer;
  header_.counts.duplicates = counts.duplicates;
  file_.close_with(encode_header(header_));
  file_.publish();
}

}  // namespace troika::data
