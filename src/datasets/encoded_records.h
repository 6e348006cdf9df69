// The records of a chunk as token sequences, in memory and as bytes of a part file.
#pragma once

#include <cstdint>
#include <vector>

#include "data/chunks.h"
#include "data/part_store.h"
#include "data/tokenizer.h"
#include "datasets/chat_template.h"
#include "datasets/record_shape.h"

namespace troika::datasets {

// Decides every id and label of a conversation.
struct Encoding {
  const data::Tokenizer& tokenizer;
  const ChatTemplate& chat_template;
  LossOn loss_on = LossOn::answers;
  RecordShape shape;
};

// Sequences stand one behind the other in ids and has_loss.
struct EncodedRecords {
  std::vector<std::uint32_t> sequences_of_record;
  std::vector<std::uint64_t> lengths;  // of sequences, at least 1 each
  std::vector<std::int32_t> ids;       // of all
  std::vector<std::uint8_t> has_loss;  // of each id
  std::int64_t input_bytes = 0;
  bool taken_up = false;  // an earlier process had made them
};

// Takes them from `store`, or makes them and puts them there. DataError naming the record.
EncodedRecords encode_records(const data::Chunk& chunk, const Encoding& encoding, const data::PartStore& store);

}  // namespace troika::datasets
