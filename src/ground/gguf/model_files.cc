#include "gguf/model_files.h"

#include <fstream>

#include "base/file.h"
#include "base/text.h"
#include "gguf/header.h"
#include "gguf/model_config.h"
#include "gguf/tokenizer_document.h"

namespace troika::gguf {
namespace {

// "model.gguf" and "tokenizer.json"; both empty where no GGUF file is before the last slash.
struct Document {
  std::string file, name;
};

Document document_at(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0 || base::file_exists(path)) return {};
  const std::string file = path.substr(0, slash);
  return is_gguf(file) ? Document{file, path.substr(slash + 1)} : Document{};
}

bool is_of_tokenizer(const std::string& name) { return name == "tokenizer.json" || name == "tokenizer_config.json"; }

}  // namespace

bool is_gguf(const std::string& path) {
  if (!base::file_exists(path)) return false;
  if (base::ends_with(path, ".gguf")) return true;
  std::ifstream stream(path, std::ios::binary);
  char bytes[4] = {};
  return stream.read(bytes, sizeof bytes) && std::string_view(bytes, sizeof bytes) == magic;
}

bool holds_files(const std::string& path) { return base::directory_exists(path) || is_gguf(path); }

bool file_exists(const std::string& path) {
  const Document document = document_at(path);
  if (document.name.empty()) return base::file_exists(path);
  return document.name == "config.json" ||
         (is_of_tokenizer(document.name) && has_tokenizer(File(document.file).header()));
}

std::string read_file(const std::string& path) {
  const Document document = document_at(path);
  if (document.name != "config.json" && !is_of_tokenizer(document.name)) return base::read_file(path);
  const File file(document.file);
  std::string text;
  base::while_reading(file.mapping(), [&] {
    text = document.name == "config.json"      ? config_json(file)
           : document.name == "tokenizer.json" ? tokenizer_json(file.header())
                                               : tokenizer_config_json(file.header());
  });
  return text;
}

std::int64_t file_size(const std::string& path) {
  return document_at(path).name.empty() ? base::file_size(path) : static_cast<std::int64_t>(read_file(path).size());
}

std::string hash_file(const std::string& path) {
  return document_at(path).name.empty() ? base::hash_file(path) : base::hash_bytes(read_file(path));
}

}  // namespace troika::gguf
