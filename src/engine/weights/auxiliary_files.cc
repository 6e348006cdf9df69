#include "weights/weights_folder.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "data/chat_template.h"
#include "gguf/model_files.h"

namespace troika::weights {
namespace {

constexpr const char* auxiliary_names[] = {
    "added_tokens.json",       "chat_template.jinja", "chat_template.json", "generation_config.json", "merges.txt",
    "special_tokens_map.json", "tokenizer.json",      "tokenizer.model",    "tokenizer_config.json",  "vocab.json"};

// "" where it is the tokenizer's own, or a file that is not there.
std::string stated_template(const std::string& chat_template) {
  if (const auto* built_in = data::find_built_in_template(chat_template); built_in != nullptr)
    return std::string(built_in->source);
  return base::file_exists(chat_template) ? base::read_file(chat_template) : "";
}

}  // namespace

std::vector<std::string> auxiliary_files_in(const std::string& folder) {
  std::vector<std::string> paths;
  if (folder.empty()) return paths;
  for (const char* name : auxiliary_names) {
    if (gguf::file_exists(folder + "/" + name)) paths.push_back(folder + "/" + name);
  }
  return paths;
}

std::string name_of_tokenizer_file(const std::string& path) {
  return base::ends_with(path, ".model") ? "tokenizer.model" : "tokenizer.json";
}

bool is_auxiliary_file(const std::string& name) {
  return std::find(std::begin(auxiliary_names), std::end(auxiliary_names), name) != std::end(auxiliary_names);
}

std::string generation_config_in(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (path.substr(path.rfind('/') + 1) == "generation_config.json") return path;
  }
  return "";
}

std::map<std::string, std::string> auxiliary_texts(const std::string& tokenizer, const std::string& chat_template,
                                                   const std::string& generation_config) {
  std::map<std::string, std::string> texts;
  for (const std::string& path : auxiliary_files_in(data::folder_of_tokenizer(tokenizer)))
    texts[path.substr(path.rfind('/') + 1)] = gguf::read_file(path);
  if (base::file_exists(tokenizer) && !gguf::is_gguf(tokenizer)) {
    texts.erase("tokenizer.json");  // a folder's tokenizer is that one, whatever was named
    texts[name_of_tokenizer_file(tokenizer)] = base::read_file(tokenizer);
  }
  if (!generation_config.empty()) texts["generation_config.json"] = base::read_file(generation_config);
  if (const std::string text = stated_template(chat_template); !text.empty()) texts["chat_template.jinja"] = text;
  return texts;
}

}  // namespace troika::weights
