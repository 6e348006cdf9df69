// Hugging Face's tokenizer.json, as far as it is byte-level BPE: reading and writing.
// Read: model BPE (merges as "a b" or ["a", "b"]; ignore_merges), pre-tokenizers ByteLevel and Split with a regular
// expression (Isolated), alone or in a Sequence, decoder ByteLevel, added tokens. Everything else is refused by name:
// normalizers (NFC too), prefix spaces, byte fallback, dropout, subword prefixes and suffixes, other model types.
#pragma once

#include <string>

#include "data/bpe.h"

namespace troika::data {

// The document end is <|endoftext|> when the file has it, else the eos_token of a tokenizer_config.json beside the
// file. Throws DataError that names the file and the part.
BpeModel load_tokenizer_json(const std::string& path);

// Writes tokenizer.json and tokenizer_config.json into `folder` (created when absent), each atomically.
void save_tokenizer(const BpeModel& model, const std::string& folder);

}  // namespace troika::data
