// troika data encode and decode: text -> token ids as text, and back.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/language.h"

namespace troika::commands {

struct EncodeOptions {
  std::string tokenizer;
  std::string text_key = "text";
  std::int64_t workers = 0;  // threads; 0: all cores. The ids do not depend on it.
};

// Writes one line per document to `out`: its ids as a JSON array. A document is a text file, or a line of a .jsonl file; lines
// without text are passed over. No begin or end marks are added. Throws DataError for bad input (data::find_corpus).
void encode_texts(const std::vector<std::string>& inputs, const EncodeOptions& options, std::FILE* out);

// Tokenizes the same and gives how much and how fast, as lines.
base::Text encode_statistics(const std::vector<std::string>& inputs, const EncodeOptions& options);

enum class DecodedForm { bytes, json_lines };

// Reads lines of ids from `ids_path` ("-": standard input), arrays or numbers between spaces or commas, and writes the bytes
// they stand for: one after another, or per line an object {"text": ...} (where bytes are not valid UTF-8 then U+FFFD).
// Throws DataError that names the line for what is no id of the vocabulary.
void decode_ids(const std::string& ids_path, const std::string& tokenizer, DecodedForm form, std::FILE* out);

}  // namespace troika::commands
