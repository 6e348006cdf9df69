// The parts of a Hugging Face tokenizer.json beside its vocabulary and merges: normalizer, pre-tokenizer, decoder, options of
// the model, post-processor. What is read, ignored and refused is in docs/formats/tokenizer.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tokenizer/bpe.h"

namespace troika::tokenizer {

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
