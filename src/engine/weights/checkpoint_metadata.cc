#include "weights/checkpoint_metadata.h"

#include <algorithm>

#include "base/file.h"
#include "config/config.h"
#include "config/huggingface/checkpoint_folder.h"
#include "data/open_chat_template.h"
#include "weights/auxiliary_files.h"

namespace troika::weights {
namespace {

std::string model_folder(const checkpoint::Found& found) { return found.path + "/model"; }

// Where checkpoints keep no copies: beside the tokenizer, and how to generate as the folder says from which the run began.
std::vector<std::string> files_at_stated_paths(const checkpoint::Found& found) {
  const std::string folder = folder_of_tokenizer(fact_of(found, tokenizer_fact)),
                    generation_config = "/generation_config.json", began_from = fact_of(found, weights_from_fact);
  std::vector<std::string> paths = auxiliary_files_in(folder);
  if (began_from.empty() || !base::file_exists(began_from + generation_config)) return paths;
  paths.erase(std::remove(paths.begin(), paths.end(), folder + generation_config), paths.end());
  paths.push_back(began_from + generation_config);
  return paths;
}

}  // namespace

config::Settings settings_of(const checkpoint::Found& found) {
  return config::settings_from_yaml(found.facts.settings_yaml, found.path + "/manifest.json");
}

std::string fact_of(const checkpoint::Found& found, const std::string& name) {
  const auto place = found.facts.extra.find(name);
  return place == found.facts.extra.end() ? "" : place->second;
}

std::string tokenizer_of(const checkpoint::Found& found) {
  const std::string folder = model_folder(found);
  const bool has_copy = base::file_exists(folder + "/tokenizer.json");
  return has_copy ? config::tokenizer_beside(folder) : fact_of(found, tokenizer_fact);
}

std::string chat_template_of(const checkpoint::Found& found) {
  const std::string stated = settings_of(found).data.chat_template, copy = model_folder(found) + "/chat_template.jinja";
  if (!data::names_template_file(stated) || !base::file_exists(copy)) return stated;
  config::check_model_file(model_folder(found), "chat_template.jinja");
  return copy;
}

std::vector<std::string> auxiliary_files_of(const checkpoint::Found& found) {
  const std::vector<std::string> copies = auxiliary_files_in(model_folder(found));
  if (copies.empty()) return files_at_stated_paths(found);
  for (const std::string& path : copies)
    config::check_model_file(model_folder(found), path.substr(path.rfind('/') + 1));
  return copies;
}

std::string fingerprint_of(const checkpoint::Found& found) {
  std::string text;
  for (const checkpoint::Part& part : found.parts) text += part.file + " " + part.hash + "\n";
  return base::hash_bytes(text);
}

}  // namespace troika::weights
