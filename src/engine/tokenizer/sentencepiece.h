// Tokenizers of folders that have SentencePiece's tokenizer.model and no tokenizer.json.
#pragma once

#include <string>

#include "tokenizer/bpe.h"
#include "tokenizer/sentencepiece_model.h"

namespace troika::tokenizer {

// The ids of `sentencepiece` for text without added tokens. What is merged: the two neighbours whose joined piece has the highest
// score, the leftmost of equals. Control pieces, and what the files beside it name (`added_tokens.json`, `tokenizer_config.json`,
// `special_tokens_map.json`), are added tokens, as when transformers converts the model; the piece that begins a text is in front
// unless add_bos_token is false. DataError that names the file and the part for other kinds than BPE and what is not supported.
BpeModel load_sentencepiece(const std::string& path);

// The same from memory, without files beside it.
BpeModel bpe_of_sentencepiece(const SentencePieceModel& model, const std::string& origin);

}  // namespace troika::tokenizer
