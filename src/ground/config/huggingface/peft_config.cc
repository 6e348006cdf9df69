#include "config/huggingface/peft_config.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/huggingface/json_keys.h"

namespace troika::config {
namespace {

using nlohmann::json;

// Members that change what is computed unless they are as listed, besides null.
const std::vector<std::pair<const char*, json>>& conditions() {
  static const std::vector<std::pair<const char*, json>> all = [] {
    std::vector<std::pair<const char*, json>> rows;
    for (const char* key :
         {"use_dora", "use_qalora", "use_bdlora", "lora_bias", "layer_replication", "target_parameters",
          "trainable_token_indices", "alora_invocation_tokens", "arrow_config", "megatron_config", "kasa_config",
          "monteclora_config", "velora_config"})
      rows.emplace_back(key, json{false, json::object(), json::array()});
    rows.emplace_back("modules_to_save", json::array({json::array()}));
    rows.emplace_back("bias", json{"none"});
    rows.emplace_back("task_type", json{"CAUSAL_LM"});
    // Others begin with another base than the one that the adapter is on.
    rows.emplace_back("init_lora_weights", json{true, false, "gaussian", "eva", "orthogonal"});
    return rows;
  }();
  return all;
}

// Those that are read, and those that change no number once the tensors are there.
const std::set<std::string>& passed_over_keys() {
  static const std::set<std::string> all = {
      "peft_type", "base_model_name_or_path", "r", "lora_alpha", "use_rslora", "lora_dropout", "rank_pattern",
      "alpha_pattern", "target_modules", "exclude_modules", "layers_to_transform", "layers_pattern", "auto_mapping",
      "revision", "inference_mode", "fan_in_fan_out", "peft_version", "loftq_config", "eva_config", "corda_config",
      "lora_ga_config", "megatron_core", "qalora_group_size", "ensure_weight_tying", "runtime_config"};
  return all;
}

void refuse_unsupported_members(JsonKeys& members) {
  for (const auto& [key, accepted] : conditions()) members.allow(key, accepted);
}

bool says_nothing(const json& value) {
  return value.is_null() || value == false || (value.is_structured() && value.empty()) || value == "";
}

std::vector<base::Text> notes_on(const json& root, const std::string& origin) {
  std::set<std::string> known = passed_over_keys();
  for (const auto& condition : conditions()) known.insert(condition.first);
  std::vector<base::Text> notes;
  for (const auto& [key, value] : root.items()) {
    if (known.count(key) == 0 && !says_nothing(value))
      notes.push_back(base::say("{} has {}: {}, which is unknown and ignored; check that the adapter does not depend on it", origin, base::printable(key, 60), shown(value)));
  }
  return notes;
}

// The keys in the file's order, which an ordered reading has: the first that matches counts.
NumberPattern read_numbers(JsonKeys& members, const nlohmann::ordered_json& root, const std::string& key,
                           const std::string& origin) {
  NumberPattern numbers;
  const json* found = members.find(key);
  if (found == nullptr) return numbers;
  const bool whole = key == "rank_pattern";
  const double most = field_of(whole ? "lora.rank" : "lora.alpha").max;
  const auto fits = [&](const json& one) {
    return one.is_number() && one.get<double>() > 0 && one.get<double>() <= most &&
           (!whole || one.get<double>() == std::floor(one.get<double>()));
  };
  if (!found->is_object() || !std::all_of(found->begin(), found->end(), fits)) {
    members.fail(key, base::say(whole ? base::Phrase("an object of module names with whole numbers from 1 to {:.0f} is needed") : base::Phrase("an object of module names with numbers above 0 and at most {:.0f} is needed"), most));
    return numbers;
  }
  for (const auto& [name, value] : root[key].items())
    numbers.emplace_back(ModuleExpression("(.*\\.)?(" + name + ")", origin + ": " + key), value.template get<double>());
  return numbers;
}

// null, or the first layers without a gap, as whole numbers.
void refuse_gaps(JsonKeys& members) {
  const json* layers = members.find("layers_to_transform");
  if (layers == nullptr) return;
  json first = json::array();
  for (std::size_t i = 0; i < layers->size(); ++i) first.push_back(i);
  if (*layers != first) members.fail("layers_to_transform", base::say("only adapters in every layer are supported"));
}

base::Text limits_of(const JsonKeys& members) {
  std::vector<base::Text> limits;
  for (const char* key : {"layers_to_transform", "exclude_modules"}) {
    const json* value = members.find(key);
    if (value != nullptr && !says_nothing(*value)) limits.push_back(base::say(", and {} is {}", key, shown(*value)));
  }
  return base::join(limits, "", "");
}

// Keys that are absent have the defaults of PEFT.
LoraSettings read_lora(JsonKeys& members) {
  LoraSettings lora;
  lora.rank = members.whole("r", field_of("lora.rank"), 8);
  lora.alpha = members.number("lora_alpha", field_of("lora.alpha"), 8);
  if (lora.alpha <= 0) members.fail("lora_alpha", base::say("a number above 0 is needed"));
  lora.rslora = members.truth("use_rslora", false);
  lora.dropout = members.number("lora_dropout", field_of("lora.dropout"), 0);
  return lora;
}

double number_for(const NumberPattern& pattern, const std::string& module, double usual) {
  for (const auto& [expression, value] : pattern) {
    if (expression.matches(module)) return value;
  }
  return usual;
}

std::string targets_of(const std::vector<AdaptedModule>& modules, const std::string& origin) {
  std::map<Projection, std::set<std::int64_t>> layers_of;
  std::int64_t layers = 0;
  for (const AdaptedModule& module : modules) {
    layers_of[module.projection].insert(module.layer);
    layers = std::max(layers, module.layer + 1);
  }
  std::vector<std::string> targets;
  for (const auto& [projection, there] : layers_of) {
    std::int64_t absent = 0;
    while (there.count(absent) != 0) ++absent;
    if (absent < layers) throw base::DataError(base::say("{}: {} has an adapter in some layers but not in others (layer {}); only adapters in every layer are supported", origin, word_of(projection), absent));
    targets.push_back(word_of(projection));
  }
  const bool all = targets.size() == adaptable_projections().size();
  return all ? LoraSettings{}.targets : base::join(targets, ",");
}

nlohmann::ordered_json as_json(double value) {
  if (value == std::floor(value)) return static_cast<std::int64_t>(value);
  return value;
}

nlohmann::ordered_json as_json(const std::string& pattern) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, value] : entries_of(pattern)) object[name] = as_json(value);
  return object;
}

}  // namespace

PeftConfig parse_peft_config(std::string_view text, const std::string& origin) {
  const json root = base::parse_json(text, origin);
  if (!root.is_object()) throw base::DataError(base::say("{} is not a JSON object", origin));
  std::vector<base::Text> problems;
  JsonKeys members(root, "", &problems);
  const std::string kind = members.word("peft_type", "");
  if (kind != "LORA") members.fail("peft_type", base::say("only \"LORA\" is supported"));
  const LoraSettings lora = read_lora(members);
  const nlohmann::ordered_json ordered = base::parse_ordered_json(text, origin);
  NumberPattern ranks = read_numbers(members, ordered, "rank_pattern", origin),
                alphas = read_numbers(members, ordered, "alpha_pattern", origin);
  refuse_unsupported_members(members);
  refuse_gaps(members);
  const std::string base = members.word("base_model_name_or_path", "");
  if (!problems.empty())
    throw base::DataError(base::say("{} describes an adapter that is not supported:\n  {}", origin, base::join(problems, "\n  ", "\n  ")));
  const json *modules = members.find("target_modules"),
             *excluded = members.find("exclude_modules");
  PeftConfig config{lora,
                    base,
                    ModulePattern(modules == nullptr ? json() : *modules, "target_modules", origin),
                    std::nullopt,
                    std::move(ranks),
                    std::move(alphas),
                    limits_of(members),
                    notes_on(root, origin)};
  if (excluded != nullptr && !says_nothing(*excluded))
    config.excluded.emplace(*excluded, "exclude_modules", origin);
  return config;
}

LoraSettings lora_of(const PeftConfig& config, const std::vector<AdaptedModule>& modules, const std::string& origin) {
  LoraSettings lora = config.lora;
  lora.targets = targets_of(modules, origin);
  std::vector<std::pair<AdaptedModule, double>> ranks, alphas;
  const auto rank = static_cast<double>(lora.rank);
  for (const AdaptedModule& module : modules) {
    ranks.emplace_back(module, number_for(config.ranks, name_of(module), rank));
    alphas.emplace_back(module, number_for(config.alphas, name_of(module), lora.alpha));
  }
  lora.rank_pattern = pattern_of(ranks, rank);
  lora.alpha_pattern = pattern_of(alphas, lora.alpha);
  return lora;
}

std::string peft_config_text(const LoraSettings& given, std::int64_t layers, const std::string& base) {
  const LoraSettings lora = with_plain_sizes(given, layers);
  nlohmann::ordered_json j;
  j["alpha_pattern"] = as_json(lora.alpha_pattern);
  j["base_model_name_or_path"] = base;
  j["bias"] = "none";
  j["fan_in_fan_out"] = false;
  j["inference_mode"] = true;
  j["init_lora_weights"] = true;
  j["layers_pattern"] = nullptr;
  j["layers_to_transform"] = nullptr;
  j["lora_alpha"] = as_json(lora.alpha);
  j["lora_dropout"] = lora.dropout;
  j["modules_to_save"] = nullptr;
  j["peft_type"] = "LORA";
  j["r"] = lora.rank;
  j["rank_pattern"] = as_json(lora.rank_pattern);
  j["target_modules"] = lora_targets(lora);
  j["task_type"] = "CAUSAL_LM";
  j["use_dora"] = false;
  j["use_rslora"] = lora.rslora;
  return j.dump(2) + "\n";
}

}  // namespace troika::config
