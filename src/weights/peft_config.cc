#include "weights/peft_config.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/huggingface/json_keys.h"
#include "shape/adapter.h"
#include "weights/peft_texts.h"

namespace troika::weights {
namespace {

using config::JsonKeys;
using nlohmann::json;

// Members that change what is computed unless they are as listed.
void refuse_unsupported(JsonKeys& members) {
  for (const char* key : {"use_dora", "use_qalora", "use_bdlora", "lora_bias", "layer_replication", "target_parameters",
                          "trainable_token_indices", "alora_invocation_tokens", "arrow_config", "megatron_config"})
    members.allow(key, {false, json::object(), json::array()});
  members.allow("modules_to_save", json::array({json::array()}));
  members.allow("bias", {"none"});
  members.allow("task_type", {"CAUSAL_LM"});
  // Others begin with another base than the one that the adapter stands on.
  members.allow("init_lora_weights", {true, false, "gaussian", "eva", "orthogonal"});
}

// Empty, or nothing but the value that holds anyhow.
void refuse_pattern(JsonKeys& members, const std::string& key, double value) {
  const json* pattern = members.find(key);
  if (pattern == nullptr) return;
  bool same = pattern->is_object();
  for (const json& one : *pattern) same = same && one.is_number() && one.get<double>() == value;
  if (!same) members.fail(key, base::say(peft_texts.one_rank));
}

// null, or the first layers without a gap, as whole numbers.
void refuse_gaps(JsonKeys& members) {
  const json* layers = members.find("layers_to_transform");
  if (layers == nullptr) return;
  json first = json::array();
  for (std::size_t i = 0; i < layers->size(); ++i) first.push_back(i);
  if (*layers != first) members.fail("layers_to_transform", base::say(peft_texts.every_layer));
}

// What is not stated is as PEFT has it.
config::LoraSettings read_lora(JsonKeys& members) {
  config::LoraSettings lora;
  lora.rank = members.whole("r", config::field_of("lora.rank"), 8);
  const double alpha = members.number("lora_alpha", config::field_of("lora.alpha"), 8);
  if (alpha <= 0) members.fail("lora_alpha", base::say(peft_texts.above_0));
  refuse_pattern(members, "rank_pattern", static_cast<double>(lora.rank));
  refuse_pattern(members, "alpha_pattern", alpha);
  const bool by_root = members.truth("use_rslora", false);  // alpha / sqrt(r) instead of alpha / r
  lora.alpha = by_root ? alpha * std::sqrt(static_cast<double>(lora.rank)) : alpha;
  lora.dropout = members.number("lora_dropout", config::field_of("lora.dropout"), 0);
  return lora;
}

}  // namespace

PeftConfig parse_peft_config(std::string_view text, const std::string& origin) {
  const json root = base::parse_json(text, origin);
  if (!root.is_object()) throw base::DataError(base::say(peft_texts.no_object, origin));
  std::vector<base::Text> problems;
  JsonKeys members(root, "", &problems);
  const std::string kind = members.word("peft_type", "");
  if (kind != "LORA") members.fail("peft_type", base::say(peft_texts.only_lora));
  const config::LoraSettings lora = read_lora(members);
  refuse_unsupported(members);
  refuse_gaps(members);
  const std::string base = members.word("base_model_name_or_path", "");
  if (!problems.empty())
    throw base::DataError(base::say(peft_texts.not_supported, origin, base::join(problems, {"\n  ", "\n  "})));
  const json* layers = members.find("layers_to_transform");
  const json* modules = members.find("target_modules");
  return {lora, base, ModulePattern(modules == nullptr ? json() : *modules, origin),
          layers == nullptr ? "" : config::shown(*layers)};
}

std::string peft_config_text(const config::LoraSettings& lora, const std::vector<std::string>& targets,
                             const std::string& base) {
  nlohmann::ordered_json j;
  j["base_model_name_or_path"] = base;
  j["bias"] = "none";
  j["fan_in_fan_out"] = false;
  j["inference_mode"] = true;
  j["init_lora_weights"] = true;
  j["layers_pattern"] = nullptr;
  j["layers_to_transform"] = nullptr;
  const double alpha = shape::adapter_scale(lora) * static_cast<double>(lora.rank);
  if (alpha == std::floor(alpha)) {
    j["lora_alpha"] = static_cast<std::int64_t>(alpha);
  } else {
    j["lora_alpha"] = alpha;
  }
  j["lora_dropout"] = lora.dropout;
  j["modules_to_save"] = nullptr;
  j["peft_type"] = "LORA";
  j["r"] = lora.rank;
  j["target_modules"] = targets;
  j["task_type"] = "CAUSAL_LM";
  j["use_dora"] = false;
  j["use_rslora"] = false;
  return j.dump(2) + "\n";
}

}  // namespace troika::weights
