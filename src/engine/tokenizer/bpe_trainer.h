// Trains a byte-level BPE tokenizer on counted words; data/prepare.h counts those of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "tokenizer/bpe.h"

namespace troika::tokenizer {

struct BpeTrainerOptions {
  std::int64_t vocab_size = 8192;  // 256 bytes + merges + <|endoftext|>; at least 257
  std::int64_t min_count = 2;      // a pair seen less often is not merged
  std::int64_t workers = 0;        // threads that count words; 0: all cores
  std::string pattern = qwen2_pattern;
  std::string text_key = "text";
  // So much is counted of different pieces that are longer than 256 bytes, the first of them: text without breaks, as DNA or
  // Japanese, is few and long ones, and training on it takes about 40 bytes of memory for each of its bytes.
  std::size_t most_long_bytes = std::size_t{32} << 20;
};

// How often each piece of the pre-tokenizer occurs. Iterate only after sorting.
using WordCounts = std::unordered_map<std::string, std::int64_t>;

// The merges depend on the counts alone: each round takes the pair with the highest count, of equals the one whose left
// bytes, then right bytes, are smallest (compared as unsigned bytes). Fewer tokens than asked for when pairs run out.
// Ids: bytes in alphabet order, merges in order, <|endoftext|> last. Throws ConfigError for a vocabulary below 257.
BpeModel train_bpe(const WordCounts& words, const BpeTrainerOptions& options);

}  // namespace troika::tokenizer
