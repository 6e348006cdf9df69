// Hugging Face's tokenizer.json, as far as it is BPE: reading and writing. docs/formats/tokenizer.md
// lists what is read, ignored and refused; errors name what is refused.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/bpe.h"

namespace troika::tokenizer {

// The document end is <|endoftext|> when the file has it, else the eos_token of a tokenizer_config.json beside the
// file. Throws DataError that names the file and the part.
BpeModel load_tokenizer_json(const std::string& path);

// The same from memory; `origin` is what errors name. The document end is <|endoftext|> or -1.
BpeModel parse_tokenizer_json(std::string_view json, const std::string& origin);

// tokenizer_config.json and tokenizer.json: name and content. With prefix_space the model may have no other pattern than GPT-2's.
// Tokens that no bytes spell and that are not added are left out.
std::vector<std::pair<std::string, std::string>> tokenizer_files(const BpeModel& model);

// Writes them into `folder` (created when absent), each atomically.
void save_tokenizer(const BpeModel& model, const std::string& folder);

}  // namespace troika::tokenizer
