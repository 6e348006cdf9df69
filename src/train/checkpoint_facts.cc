#include "train/checkpoint_facts.h"

#include <algorithm>

#include "base/file.h"
#include "config/config.h"
#include "train/companions.h"

namespace troika::train {

config::Settings settings_of(const checkpoint::Found& found) {
  return config::settings_from_yaml(found.facts.settings_yaml, found.path + "/manifest.json");
}

std::string fact_of(const checkpoint::Found& found, const std::string& name) {
  const auto place = found.facts.extra.find(name);
  return place == found.facts.extra.end() ? "" : place->second;
}

std::vector<std::string> companions_of(const checkpoint::Found& found) {
  const std::string folder = folder_of_tokenizer(fact_of(found, "tokenizer")), generation = "/generation_config.json";
  std::vector<std::string> paths = companions_in(folder);
  const std::string origin = fact_of(found, weights_from_fact);
  if (origin.empty() || !base::file_exists(origin + generation)) return paths;
  paths.erase(std::remove(paths.begin(), paths.end(), folder + generation), paths.end());
  paths.push_back(origin + generation);
  return paths;
}

std::string fingerprint_of(const checkpoint::Found& found) {
  std::string text;
  for (const checkpoint::Part& part : found.parts) text += part.file + " " + part.hash + "\n";
  return base::hash_bytes(text);
}

}  // namespace troika::train
