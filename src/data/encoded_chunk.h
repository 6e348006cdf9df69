// A chunk of text as token ids, in memory and as bytes of a part file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/chunks.h"
#include "data/document_filter.h"
#include "data/part_store.h"
#include "data/tokenizer.h"

namespace troika::data {

struct EncodedPart {
  DocumentKey key;
  bool begins = true, ends = true;
  std::vector<std::int32_t> ids;
};

struct EncodedChunk {
  std::vector<EncodedPart> parts;
  std::int64_t input_bytes = 0;
  bool taken_up = false;  // an earlier process had made it
};

// Takes it from `store`, or makes it and puts it there. DataError as for_each_part.
EncodedChunk encode_chunk(const Chunk& chunk, const std::string& text_key, const Tokenizer& tokenizer,
                          const PartStore& store);

}  // namespace troika::data
