// Adapters on disk: a PEFT folder (adapter_config.json, adapter_model.safetensors), or the folder of a run with
// lora.rank.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/language.h"
#include "checkpoint/checkpoint.h"
#include "comm/channel.h"
#include "config/settings/settings.h"
#include "shape/layout.h"

namespace troika::weights {

// The data beside the weights in a source of weights, of a model or of an adapter. One rank's view. One rank's thread.
class Source {
 public:
  virtual ~Source() = default;
  // The argument for open_tokenizer; "" when the source names none.
  virtual std::string tokenizer() const = 0;
  // Files beside the weights that belong to the model (weights_folder.h), as paths on this host.
  virtual std::vector<std::string> auxiliary_files() const = 0;
  // data.chat_template of the run that made the weights; "auto" when none did.
  virtual std::string chat_template() const { return std::string(config::tokenizers_template); }
  // The text of the source's config.json; "" of an adapter whose base has it.
  virtual std::string config_json() const = 0;
  // Parts of the source that are read otherwise than they may be meant, a sentence each.
  virtual std::vector<base::Text> notes() const { return {}; }
  // Equal on hosts that hold the same weights, as far as can be told without reading all of them; 16 hex digits.
  virtual std::string fingerprint() const = 0;
  // The bytes that load has read on this rank, and those of all the source's weights; in the stored dtype.
  virtual std::int64_t bytes_read() const = 0;
  virtual std::int64_t bytes() const = 0;
};

class AdapterSource : public Source {
 public:
  virtual const std::string& path() const = 0;
  virtual const config::LoraSettings& lora() const = 0;  // all but the path
  virtual const std::string& base() const = 0;           // where the weights beside it are: a model.path
  // Names, as shape::adapter_parameters has them, and shapes of all that it holds, sorted by name.
  virtual const std::vector<shape::ParameterInfo>& parameters() const = 0;
  // DataError naming every adapter parameter of (model, lora) that is missing or has another shape, and the products
  // that it has adapters of and `lora` has not. `model` may have fewer layers.
  virtual void check(const config::ModelSettings& model, const config::LoraSettings& lora) const = 0;
  // Collective over `world`. Fills every slice's `data`; names as shape::adapter_parameters has them.
  virtual void load(const std::vector<checkpoint::Slice>& wanted, comm::Channel& world) = 0;

  // The settings of the model that it makes of its base; nothing and "" where they are the base's.
  virtual std::optional<config::ModelSettings> model() const { return std::nullopt; }  // with `path` set
  virtual std::string base_fingerprint() const { return ""; }  // of the base that it was trained beside
  virtual std::string base_beneath() const { return ""; }      // where base() is an adapter too: the model beside that one
};

// Collective over `world`. DataError when `path` is neither.
std::unique_ptr<AdapterSource> open_adapter(const std::string& path, comm::Channel& world);

// "model.layers.0.self_attn.q_proj" and "q_proj" of "model.layers.0.self_attn.q_proj.lora_A.weight".
std::string module_of(const std::string& adapter_parameter);
std::string target_of(const std::string& adapter_parameter);
inline const char* const lora_a = ".lora_A.weight";  // [rank, inputs]
inline const char* const lora_b = ".lora_B.weight";  // [outputs, rank]

// The adapters of every segment, sorted by name. ConfigError like shape::adapter_parameters.
std::vector<shape::ParameterInfo> all_adapter_parameters(const config::ModelSettings& model,
                                                         const config::LoraSettings& lora);

// As AdapterSource::check says, of an adapter at `path` that holds `held`. `also_missing`: names that are missing
// besides, `remark`: what may explain it; may be empty.
void check_adapter(const std::string& path, const std::vector<shape::ParameterInfo>& held,
                   const config::ModelSettings& model, const config::LoraSettings& lora,
                   const std::vector<std::string>& also_missing = {}, const base::Text& remark = {});

// A PEFT folder as a source of an adapter: adapter_config.json beside adapter_model.safetensors.
inline const char* const adapter_weights_name = "adapter_model.safetensors";
inline const char* const peft_prefix = "base_model.model.";  // of every tensor's name in it

// Collective over `world`; every host has a copy. DataError as of parse_peft_config, and when the tensors are missing,
// not pairs of A and B, or not those that target_modules means; ConfigError naming the rank whose copy differs.
std::unique_ptr<AdapterSource> open_peft_folder(const std::string& path, comm::Channel& world);

}  // namespace troika::weights
