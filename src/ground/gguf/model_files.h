// The files of a model's folder, where a GGUF file is a folder too: "model.gguf/tokenizer.json" is the document that
// says in Hugging Face's form what the file's keys say.
#pragma once

#include <cstdint>
#include <string>

namespace troika::gguf {

// By its name, or its first bytes, whatever else it holds.
bool is_gguf(const std::string& path);

bool holds_files(const std::string& path);  // a folder, or a GGUF file

// As those of base/file.h, for paths of files in a model's folder: in a GGUF file config.json, tokenizer.json where it
// has a tokenizer, and tokenizer_config.json. DataError too for a GGUF file that cannot be read so.
bool file_exists(const std::string& path);
std::string read_file(const std::string& path);
std::int64_t file_size(const std::string& path);
std::string hash_file(const std::string& path);

}  // namespace troika::gguf
