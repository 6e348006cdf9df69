// config.json of a model folder.
#include "config/config.h"
#include "config/huggingface/hugging_face_config.h"
#include "fuzz/input.h"
#include "fuzz/outcome.h"

TROIKA_FUZZ_TARGET(model_configs)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  const std::string_view input = fuzz::text_of(data, size);
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
