// A Hugging Face tokenizer.json taken apart: its two large lists as plain values, the rest as JSON. Then its other parts: normalizer, pre-tokenizer, decoder, options of
// the model, post-processor. What is read, ignored and refused is in docs/formats/tokenizer.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/bpe.h"

namespace troika::tokenizer {

struct TokenizerLists {
  std::vector<std::pair<std::string, std::int64_t>> vocab;  // model.vocab: spelling and id; id -1: not a usable number
  std::vector<std::pair<std::string, std::string>> merges;  // model.merges, of "a b" and ["a", "b"] alike
};

// Reads both without making a JSON value of each entry: a fifth of the time and memory. The values model.vocab (when it is
// an object) and model.merges (when it is an array) go to `lists` and are empty in the result. Throws DataError that names
// `origin` for bad JSON, nesting deeper than 256, and a merge that is not a pair.
nlohmann::json read_tokenizer_document(std::string_view text, const std::string& origin, TokenizerLists* lists);

// Sets patterns, prefix_space, nfc and whole_pieces_first. DataError that names `path` and the part for all that is not
// byte-level BPE or not supported.
void read_tokenizer_parts(const nlohmann::json& root, const std::string& path, BpeModel* result);

// The ids before the text in the `single` template of each TemplateProcessing, alone or in a Sequence, where a later one's
// are before an earlier one's. Other kinds of post-processor that only add marks or trim offsets give none. DataError that
// names `origin` and the part for other kinds, templates of another form, ids outside [0, vocab_size) and more than 64 ids.
std::vector<std::int32_t> read_begin_ids(const nlohmann::json& post_processor, std::size_t vocab_size,
                                         const std::string& origin);

bool json_is_true(const nlohmann::json& object, const char* key);  // false where it is missing or no boolean
bool json_is_set(const nlohmann::json& object, const char* key);   // there and not null

}  // namespace troika::tokenizer
