// A chunk of a corpus as token ids, of documents or of conversations, in memory and as the bytes of a part file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "data/chat_template.h"
#include "data/chunks.h"
#include "data/part_store.h"
#include "data/record_format.h"
#include "tokenizer/tokenizer.h"

namespace troika::data {

// XXH3 of a document, 128 bits: two different documents share one with a chance below 1e-18 among 1e10.
struct DocumentKey {
  std::uint64_t low = 0, high = 0;
  bool operator==(const DocumentKey& other) const { return low == other.low && high == other.high; }
};

DocumentKey document_key(std::string_view document);

// Fed with the parts of documents in order; the first of equal documents is kept.
class DocumentFilter {
 public:
  // Whether this part belongs to a kept document. `key` matters where `begins` is set.
  bool keeps(const DocumentKey& key, bool begins);
  std::int64_t dropped() const { return dropped_; }

 private:
  struct Hash {
    std::size_t operator()(const DocumentKey& key) const { return key.low; }
  };
  std::unordered_set<DocumentKey, Hash> seen_;
  bool keeping_ = true;
  std::int64_t dropped_ = 0;
};

// A chunk of text as token ids, in memory and as bytes of a part file.
struct EncodedPart {
  DocumentKey key;
  bool begins = true, ends = true;
  std::int64_t dropped_bytes = 0;  // that no token spells
  std::vector<std::int32_t> ids;
};

struct EncodedChunk {
  std::vector<EncodedPart> parts;
  std::int64_t input_bytes = 0;
  bool reused = false;  // an earlier process had made it
};

// Takes it from `store`, or makes it and puts it there. DataError as for_each_part.
EncodedChunk encode_chunk(const Chunk& chunk, const std::string& text_key, const tokenizer::Tokenizer& tokenizer,
                          const PartStore& store);

// Decides every id and label of a conversation.
struct Encoding {
  const tokenizer::Tokenizer& tokenizer;
  const ChatTemplate& chat_template;
  LossOn loss_on = LossOn::answers;
  RecordShape shape;
  config::ControlTokens control_tokens = config::ControlTokens::keep;
};

// Sequences follow each other in ids and has_loss.
struct EncodedRecords {
  std::vector<std::uint32_t> sequences_of_record;
  std::vector<std::uint64_t> lengths;                        // of sequences, at least 1 each
  std::vector<std::int32_t> ids;                             // of all
  std::vector<std::uint8_t> has_loss;                        // of each id
  std::vector<std::pair<std::uint32_t, Findings>> findings;  // of records that have some, by number from 0
  std::int64_t input_bytes = 0;
  bool reused = false;  // an earlier process had made them
};

// Whether a sequence has loss after its first id, which no position predicts.
bool is_taught(const std::uint8_t* has_loss, std::size_t length);

// The first record of `corpus` with a sequence that is_taught of more than `most` ids.
struct LongRecord {
  base::Text origin;
  std::int64_t ids = 0;
};
std::optional<LongRecord> find_longer(const Corpus& corpus, const Encoding& encoding, std::int64_t most);

// Takes them from `store`, or makes them and puts them there. DataError naming the record.
EncodedRecords encode_records(const Chunk& chunk, const Encoding& encoding, const PartStore& store);

// Token ids of 16 bits, as shards and parts hold those of small vocabularies.
inline constexpr std::int64_t narrow_vocab_size = std::int64_t{1} << 16;  // at most so many ids fit

// The lower 16 bits of `ids`. Writes over `narrow`, whose memory is used again.
inline void narrow_ids(const std::vector<std::int32_t>& ids, std::vector<std::uint16_t>* narrow) {
  static constexpr std::size_t step = 16;  // in vector registers
  narrow->resize(ids.size());
  const std::int32_t* __restrict from = ids.data();
  std::uint16_t* __restrict to = narrow->data();
  std::size_t i = 0;
  for (; i + step <= ids.size(); i += step)
    for (std::size_t k = 0; k < step; ++k) to[i + k] = static_cast<std::uint16_t>(from[i + k]);
  for (; i < ids.size(); ++i) to[i] = static_cast<std::uint16_t>(from[i]);
}

}  // namespace troika::data
