// config.json of a model folder, and adapter_config.json of an adapter's.
#include "config/config.h"
#include "config/huggingface/hugging_face_config.h"
#include "config/huggingface/peft_config.h"
#include "fuzz/input.h"
#include "fuzz/outcome.h"

namespace {

// What is read of an adapter, written and read again, is the same.
void read_adapter(std::string_view input) {
  using namespace troika;
  const config::PeftConfig adapter = config::parse_peft_config(input, "an adapter");
  std::vector<config::AdaptedModule> modules;
  for (const std::int64_t layer : {0, 1})
    for (const auto projection : {config::Projection::q, config::Projection::o, config::Projection::down})
      if (adapter.means(config::name_of({layer, projection}))) modules.push_back({layer, projection});
  const config::LoraSettings lora = config::lora_of(adapter, modules, "an adapter");
  if (modules.empty()) return;
  const config::PeftConfig again = config::parse_peft_config(config::peft_config_text(lora, 2, ""), "it again");
  const config::LoraSettings back = config::lora_of(again, modules, "it again");
  fuzz::require(back.rank == lora.rank && back.targets == lora.targets && back.rslora == lora.rslora &&
                    back.rank_pattern == lora.rank_pattern && back.alpha_pattern == lora.alpha_pattern,
                "an adapter's settings read back");
}

}  // namespace

TROIKA_FUZZ_TARGET(model_configs)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  const std::string_view input = fuzz::text_of(data, size);
  fuzz::accepted([&] { read_adapter(input); });
  config::ModelSettings model;
  if (!fuzz::accepted([&] { model = config::parse_hugging_face_config(input, "a model"); })) return 0;
  fuzz::require(model.layers >= 1 && model.hidden >= 1 && model.heads >= 1 && model.kv_heads >= 1 &&
                    model.head_dim >= 1 && model.ffn >= 1 && model.vocab >= 1 && model.max_positions >= 1,
                "a model's sizes are at least 1");
  config::Settings settings;
  settings.model = model;
  const std::string yaml = config::to_yaml(settings);
  fuzz::require(config::to_yaml(config::settings_from_yaml(yaml, "it again")) == yaml, "a model's settings read back");
  return 0;
}
