#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"
#include "config/config.h"
#include "config/huggingface/model_folder.h"
#include "config/import/import_texts.h"
#include "config/import/llama_factory_combined.h"

namespace troika::config {
namespace {

void read_stage(const CombinedKeys& t) {
  const std::string stage = t.keys.text("stage", "sft");
  if (stage == "pt") return t.assign("data.format", "text", "stage");
  if (stage == "sft") return;
  if (!is_one_of(stage, {"rm", "ppo", "dpo", "kto"})) return t.fail_word("stage", {"sft", "pt"});
  t.fail("stage", base::say(import_texts.preferences, stage));
}

void read_freeze(const CombinedKeys& t) {
  std::int64_t layers = 2;
  if (t.keys.find("freeze_trainable_layers") == nullptr) t.assign_default("train.trainable_layers", "2");
  t.copy("train.trainable_layers", "freeze_trainable_layers");
  if (base::parse_int(t.keys.text("freeze_trainable_layers", "2"), &layers) && layers == 0)
    t.fail("freeze_trainable_layers", base::say(import_texts.no_layer));
  if (t.keys.text("freeze_trainable_modules", "all") != "all")
    t.fail("freeze_trainable_modules", base::say(import_texts.whole_layers));
  if (const FlatKey* extra = t.keys.find("freeze_extra_modules"); extra != nullptr && !extra->asks_nothing())
    t.fail("freeze_extra_modules", base::say(import_texts.extra_modules));
}

constexpr std::int64_t most_adapter_bytes = 1 << 20;

// What the adapter's folder says of it, where the file does not.
void read_adapter(const CombinedKeys& t) {
  const std::string file = t.keys.text("adapter_name_or_path") + "/" + adapter_config_name;
  if (!base::file_exists(file) || base::file_size(file) > most_adapter_bytes) return;
  const auto adapter = base::parse_json(base::read_file(file), file);
  for (const auto& [adapters_key, name, setting] :
       {std::tuple{"r", "lora_rank", "lora.rank"}, {"lora_alpha", "lora_alpha", "lora.alpha"}}) {
    if (t.keys.find(name) == nullptr && adapter.is_object() && adapter.contains(adapters_key) &&
        adapter[adapters_key].is_number())
      t.assign(setting, adapter[adapters_key].dump(), "adapter_name_or_path");
  }
  if (t.keys.find("lora_target") != nullptr || !adapter.is_object() || !adapter.contains("target_modules")) return;
  std::vector<std::string> targets;
  for (const auto& target : adapter["target_modules"]) {
    if (target.is_string()) targets.push_back(target.get<std::string>());
  }
  std::sort(targets.begin(), targets.end());
  if (adapter["target_modules"].is_array()) t.assign("lora.targets", base::join(targets, ","), "adapter_name_or_path");
}

// The manifest of a checkpoint of ours, of its model folder, or of a run's newest checkpoint; "" when there is none.
std::string manifest_of(const std::string& path) {
  const std::string own = path + "/manifest.json", above = path + "/../manifest.json";
  if (base::file_exists(own)) return own;
  if (base::split(path, '/').back() == "model" && base::file_exists(above)) return above;
  std::string newest;
  for (const std::string& name : base::list_directory(path + "/checkpoints")) {
    const std::string file = fmt::format("{}/checkpoints/{}/manifest.json", path, name);
    const bool is_complete = name.rfind("step-", 0) == 0 && name.find('.') == std::string::npos;
    if (is_complete && file > newest && base::file_exists(file)) newest = file;
  }
  return newest;
}

// What the adapter's run says of it, where the file does not.
void read_run(const CombinedKeys& t) {
  const std::string file = manifest_of(t.keys.text("adapter_name_or_path"));
  if (file.empty()) return;
  const auto manifest = base::parse_json(base::read_regular_file(file, base::most_list_bytes), file);
  const Settings run = settings_from_yaml(base::json_string(manifest, "settings_yaml", file), file);
  if (run.lora.rank == 0) return;
  for (const auto& [name, setting] :
       {std::pair{"lora_rank", "lora.rank"}, {"lora_alpha", "lora.alpha"}, {"lora_target", "lora.targets"}}) {
    if (t.keys.find(name) == nullptr) t.assign(setting, get_text(field_of(setting), run), "adapter_name_or_path");
  }
}

bool states(const Layer& layer, std::string_view setting) {
  return std::any_of(layer.assignments.begin(), layer.assignments.end(),
                     [&](const Assignment& assignment) { return assignment.field->key() == setting; });
}

void read_lora(const CombinedKeys& t) {
  if (t.keys.find("adapter_name_or_path") != nullptr) {
    if (t.keys.text("adapter_name_or_path").find(',') != std::string::npos)
      t.fail("adapter_name_or_path", base::say(import_texts.several_adapters));
    t.copy("lora.path", "adapter_name_or_path");
    read_adapter(t);
    read_run(t);
  }
  if (!states(t.layer, "lora.rank")) t.assign_default("lora.rank", "8");
}

void read_method(const CombinedKeys& t) {
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
    t.fail("adapter_name_or_path", base::say(import_texts.adapter_without_lora, type));
  }
}

std::string without_spaces(const std::string& names) {
  std::vector<std::string> parts = base::split(names, ',');
  for (std::string& part : parts) part = base::trim(part);
  return base::join(parts, ",");
}

void read_datasets(const CombinedKeys& t) {
  for (const auto& [name, setting] : {std::pair{"dataset", "data.train"}, {"eval_dataset", "data.valid"}}) {
    if (t.keys.find(name) != nullptr) t.assign(setting, without_spaces(t.keys.text(name)), name);
  }
  const std::string folder = t.keys.text("dataset_dir");
  if (folder == "ONLINE" || folder.rfind("REMOTE:", 0) == 0) {
    t.fail("dataset_dir", base::say(import_texts.download, folder));
  } else {
    t.copy("data.folder", "dataset_dir");
  }
}

void read_conversations(const CombinedKeys& t) {
  const std::string name = t.keys.text("template");
  if (name == "alpaca" || name == "chatml") {
    t.assign("data.chat_template", name, "template");
  } else if (!name.empty() && !pretrains(t.keys)) {
    t.layer.notes.push_back(base::say(import_texts.template_of_model, name));
  }
  if (t.keys.is_on("train_on_prompt") && t.keys.is_on("mask_history"))
    t.fail("mask_history", base::say(import_texts.two_losses));
  t.when_on("train_on_prompt", "data.loss_on", "all");
  t.when_on("mask_history", "data.loss_on", "last_answer");
  t.when_on("disable_shuffling", "data.shuffle", "false");
  const std::vector<std::string> orders = {"random", "sequential", "group_by_length"};
  const std::string order = t.keys.text("train_sampling_strategy", "random");
  if (!is_one_of(order, orders)) return t.fail_word("train_sampling_strategy", orders);
  if (order == "sequential") t.assign("data.shuffle", "false", "train_sampling_strategy");
  if (pretrains(t.keys)) return t.set_aside({"packing", "neat_packing"});
  t.when_on(t.keys.is_on("neat_packing") ? "neat_packing" : "packing", "data.packing", "true");
}

}  // namespace

void read_finetuning_keys(const CombinedKeys& combined) {
  for (const auto read : {read_stage, read_method, read_datasets, read_conversations}) read(combined);
}

}  // namespace troika::config
