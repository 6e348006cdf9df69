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

// Sets alphabet, normalizers, cuts, patterns, prefix_space, decoders, byte_fallback and whole_pieces_first. DataError that names
// `path` and the part for all that is not supported.
void read_tokenizer_parts(const nlohmann::json& root, const std::string& path, BpeModel* result);

// The ids before the text in the `single` template of each TemplateProcessing, alone or in a Sequence, where a later one's
// are before an earlier one's. Other kinds of post-processor that only add marks or trim offsets give none. DataError that
// names `origin` and the part for other kinds, templates of another form, ids outside [0, vocab_size) and more than 64 ids.
std::vector<std::int32_t> read_begin_ids(const nlohmann::json& post_processor, std::size_t vocab_size,
                                         const std::string& origin);

// One of added_tokens, with content and flags but without the id.
AddedToken added_token(const nlohmann::json& item, const std::string& origin);

// The text of a file of a tokenizer. DataError when it has more than 256 MiB.
std::string read_tokenizer_file(const std::string& path);

// The object in the file `name` beside `path`; an empty one where there is no such file or it is no object. `origin` becomes its
// path.
nlohmann::json json_beside(const std::string& path, const std::string& name, std::string* origin);

// A token as the files beside it have them: a string, or an object with `content`; "" where there is none.
std::string token_at(const nlohmann::json& object, const char* key, const std::string& origin);

std::int32_t id_of_token(const BpeModel& model, const std::string& token);  // -1: none

bool json_is_true(const nlohmann::json& object, const char* key);  // false where it is missing or no boolean
bool json_is_set(const nlohmann::json& object, const char* key);   // there and not null

}  // namespace troika::tokenizer
