#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "config/adapter_folder.h"
#include "config/llama_factory_topics.h"

namespace troika::config {
namespace {

void read_stage(const Topic& t) {
  const std::string stage = t.keys.text("stage", "sft");
  if (stage == "pt") return t.assign("data.format", "text", "stage");
  if (stage == "sft") return;
  if (!is_one_of(stage, {"rm", "ppo", "dpo", "kto"})) return t.fail_word("stage", {"sft", "pt"});
  t.fail("stage", fmt::format("stage {} learns from preferences, which is not supported: sft and pt are", stage));
}

void read_freeze(const Topic& t) {
  t.assign("train.trainable_layers", t.keys.text("freeze_trainable_layers", "2"), "freeze_trainable_layers");
  if (t.keys.text("freeze_trainable_modules", "all") != "all")
    t.fail("freeze_trainable_modules", "freeze_trainable_modules takes all: whole layers are trained or frozen");
  if (const FlatKey* extra = t.keys.find("freeze_extra_modules"); extra != nullptr && !extra->asks_nothing()) {
    t.fail("freeze_extra_modules",
           "freeze_extra_modules is not supported: train.freeze names the parts that are not trained instead");
  }
}

constexpr std::int64_t most_bytes = 1 << 20;

// What the adapter's folder says of it, where the file does not.
void read_adapter(const Topic& t) {
  const std::string file = t.keys.text("adapter_name_or_path") + "/" + adapter_config_name;
  if (!base::file_exists(file) || base::file_size(file) > most_bytes) return;
  const auto adapter = base::parse_json(base::read_file(file), file);
  for (const auto& [member, name, setting] :
       {std::tuple{"r", "lora_rank", "lora.rank"}, {"lora_alpha", "lora_alpha", "lora.alpha"}}) {
    if (t.keys.find(name) == nullptr && adapter.is_object() && adapter.contains(member) && adapter[member].is_number())
      t.assign(setting, adapter[member].dump(), "adapter_name_or_path");
  }
  if (t.keys.find("lora_target") != nullptr || !adapter.is_object() || !adapter.contains("target_modules")) return;
  std::vector<std::string> targets;
  for (const auto& target : adapter["target_modules"]) {
    if (target.is_string()) targets.push_back(target.get<std::string>());
  }
  std::sort(targets.begin(), targets.end());
  if (adapter["target_modules"].is_array()) t.assign("lora.targets", base::join(targets, ","), "adapter_name_or_path");
}

bool states(const Layer& layer, std::string_view setting) {
  return std::any_of(layer.assignments.begin(), layer.assignments.end(),
                     [&](const Assignment& assignment) { return assignment.field->key() == setting; });
}

void read_lora(const Topic& t) {
  if (t.keys.find("adapter_name_or_path") != nullptr) {
    if (t.keys.text("adapter_name_or_path").find(',') != std::string::npos)
      t.fail("adapter_name_or_path",
             "adapter_name_or_path names several folders, but one adapter is trained: merge the "
             "others first with troika export --merge");
    t.copy("lora.path", "adapter_name_or_path");
    read_adapter(t);
  }
  if (!states(t.layer, "lora.rank")) t.assign("lora.rank", "8", "finetuning_type");
}

void read_method(const Topic& t) {
  const std::string type = t.keys.text("finetuning_type", "lora");
  if (!is_one_of(type, {"full", "freeze", "lora"})) t.fail_word("finetuning_type", {"full", "freeze", "lora"});
  if (type == "freeze") {
    read_freeze(t);
  } else {
    t.set_aside({"freeze_trainable_layers", "freeze_trainable_modules", "freeze_extra_modules"});
  }
  if (type == "lora") {
    read_lora(t);
  } else if (t.keys.find("adapter_name_or_path") != nullptr) {
    t.fail("adapter_name_or_path",
           fmt::format("adapter_name_or_path goes with finetuning_type lora, not {}: give the merged model's folder as "
                       "model_name_or_path",
                       type));
  }
}

}  // namespace

void read_method_topics(const Topic& topic) {
  read_stage(topic);
  read_method(topic);
}

}  // namespace troika::config
