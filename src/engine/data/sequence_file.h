// Token sequences with their loss on disk, memory-mapped. docs/formats/sequences.md describes the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "data/findings.h"
#include "data/hashed_file.h"
#include "data/sequences.h"

namespace troika::data {

// The fate of the records that a file was made from.
struct SequenceCounts {
  std::int64_t records = 0;
  std::int64_t without_answer = 0;  // records that gave no sequence with loss
  std::int64_t duplicates = 0;      // sequences equal to an earlier one, left out
  std::int64_t sequences = 0, tokens = 0, loss_tokens = 0;
};

struct SequenceHeader {
  SequenceCounts counts;
  std::int64_t vocab_size = 0;      // every id is below
  std::int64_t bytes_per_id = 2;    // 2 up to a vocabulary of 65536, else 4
  std::int64_t payload_bytes = 0;   // after the header
  std::string payload_hash;         // 16 hex digits
  std::int64_t findings_bytes = 0;  // after the payload: text, and its hash as 16 hex digits
};

// Threads: const use is safe.
class SequenceFile final : public Sequences {
 public:
  // Reads all of it. DataError (path, what is wrong) for a file that is truncated, damaged or of another kind, also later when
  // it cannot be read.
  explicit SequenceFile(const std::string& path);

  const SequenceCounts& counts() const { return header_.counts; }
  const Findings& findings() const { return findings_; }  // of the records
  std::int64_t count() const override { return header_.counts.sequences; }
  std::int64_t length(std::int64_t sequence) const override;
  void read(std::int64_t sequence, std::int32_t* ids, std::int32_t* labels) const override;
  std::string fingerprint() const override;

 private:
  struct StoredSequence {
    const std::byte* begin = nullptr;
    std::int64_t length = 0;
  };
  void copy(std::int64_t sequence, std::int32_t* ids, std::int32_t* labels) const;
  StoredSequence stored(std::int64_t sequence) const;
  std::int64_t end_of(std::int64_t sequence) const;  // of its bytes, from the payload's begin

  const std::string path_;
  const base::MappedFile file_;
  SequenceHeader header_;
  Findings findings_;
};

// One sequence after the other, then finish(). The file appears under its name only then. Holds 8 bytes a sequence.
// DataError when the disk refuses. One thread at a time.
class SequenceWriter {
 public:
  SequenceWriter(const std::string& path, std::int64_t vocab_size);

  // `has_loss`: for each id 0 or 1. BugError for ids outside the vocabulary.
  void append(const std::int32_t* ids, const std::uint8_t* has_loss, std::int64_t length);
  const SequenceCounts& counts() const { return header_.counts; }
  // `counts` for what became of records; the others are the writer's own.
  void finish(const SequenceCounts& counts, const Findings& findings = {});

 private:
  SequenceHeader header_;
  std::vector<std::uint64_t> ends_;
  HashedFile file_;
};

// The bytes of a sequence file: header, and sizes.
inline constexpr std::size_t sequence_header_bytes = 128;

std::string encode_header(const SequenceHeader& header);
// DataError naming `path` when `file` does not begin with a whole, undamaged header of this format.
SequenceHeader decode_header(std::string_view file, const std::string& path);

// The bytes of a sequence of `length` ids (the ids, then a loss bit for each), and the inverse.
std::int64_t bytes_of(std::int64_t length, std::int64_t bytes_per_id);
std::int64_t length_of(std::int64_t bytes, std::int64_t bytes_per_id);

}  // namespace troika::data
