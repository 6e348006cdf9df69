#include "train/companions.h"

#include "base/file.h"

namespace troika::train {

std::vector<std::string> companions_in(const std::string& folder) {
  std::vector<std::string> paths;
  if (folder.empty()) return paths;
  for (const char* name :
       {"added_tokens.json", "chat_template.jinja", "chat_template.json", "generation_config.json", "merges.txt",
        "special_tokens_map.json", "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json"}) {
    if (base::file_exists(folder + "/" + name)) paths.push_back(folder + "/" + name);
  }
  return paths;
}

std::string folder_of_tokenizer(const std::string& tokenizer) {
  if (tokenizer == "bytes" || base::directory_exists(tokenizer)) return tokenizer == "bytes" ? "" : tokenizer;
  const std::size_t slash = tokenizer.rfind('/');
  return tokenizer.empty() ? "" : slash == std::string::npos ? "." : tokenizer.substr(0, slash);
}

}  // namespace troika::train
