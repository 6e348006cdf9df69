#include "config/huggingface/adapter_settings.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "config/config.h"
#include "config/huggingface/checkpoint_folder.h"
#include "config/huggingface/model_folder.h"
#include "config/huggingface/other_than_folder.h"
#include "config/huggingface/peft_config.h"

namespace troika::config {
namespace {

constexpr std::int64_t most_adapter_bytes = std::int64_t{16} << 20;

AdapterSettings of_peft_folder(const std::string& file, std::int64_t layers) {
  const std::int64_t bytes = base::file_size(file);
  if (bytes > most_adapter_bytes)
    throw base::DataError(base::say("{} has {} bytes; at most {} are read", file, bytes, most_adapter_bytes));
  const PeftConfig config = parse_peft_config(base::read_file(file), file);
  std::vector<AdaptedModule> modules;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (const auto& word : words_of(Projection{})) {
      const AdaptedModule module{layer, parse_word<Projection>(word).value()};
      if (config.means(name_of(module))) modules.push_back(module);
    }
  }
  AdapterSettings settings{lora_of(config, modules, file), file};
  if (!config.modules.is_stated()) settings.lora.targets.clear();
  return settings;
}

AdapterSettings of_run(const std::string& path, const std::string& file) {
  const nlohmann::json manifest = base::parse_json(base::read_file(file), file);
  AdapterSettings settings{settings_from_yaml(base::json_string(manifest, "settings_yaml", file), file).lora, file};
  if (settings.lora.rank == 0) throw base::DataError(base::say("'{}' is a whole model; name an adapter: a folder with adapter_config.json, or a run with lora.rank", path));
  settings.lora.path.clear();
  return settings;
}

}  // namespace

AdapterSettings read_adapter_settings(const std::string& path, std::int64_t layers) {
  refuse_other_than_folder(path);
  if (is_adapter_folder(path)) return of_peft_folder(path + "/" + adapter_config_name, layers);
  if (const std::string manifest = manifest_of(path); !manifest.empty()) return of_run(path, manifest);
  if (!base::directory_exists(path)) throw base::DataError(base::say("'{}' is not a folder here: nothing is downloaded, so copy the model's folder", path));
  const bool model = base::file_exists(path + "/config.json");
  throw base::DataError(base::say(model ? base::Phrase("'{}' is a whole model; name an adapter: a folder with adapter_config.json, or a run with lora.rank") : base::Phrase("'{}' holds no adapter: neither adapter_config.json, nor a checkpoint of a run with lora.rank"), path));
}

}  // namespace troika::config
