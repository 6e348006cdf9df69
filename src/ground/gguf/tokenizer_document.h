// The tokenizer of a GGUF file as the files that Hugging Face's tokenizers read.
#pragma once

#include <string>

#include "gguf/header.h"

namespace troika::gguf {

enum class TokenKind { normal = 1, unknown, control, user_defined, unused, byte };  // tokenizer.ggml.token_type

// tokenizer.json with the ids of the file. tokenizer.ggml.model gpt2 is byte-level BPE, cut as tokenizer.ggml.pre names
// it (pre_tokenizer.h); llama is SentencePiece's BPE, as transformers converts it: with byte_fallback, and merges from
// the scores where the file has none (every pair of tokens that make a token; of higher scores first, Gemma's by id).
// DataError for another model, an unknown `pre`, and lists that do not fit each other.
std::string tokenizer_json(const Header& header);
bool has_tokenizer(const Header& header);

// tokenizer_config.json: the tokens that begin, end and pad, and the chat template.
std::string tokenizer_config_json(const Header& header);

}  // namespace troika::gguf
