
#include <algorithm>
#include <utility>

#include "base/say.h"
#include "base/text.h"
#include "config/import/llama_factory.h"

namespace troika::config {
namespace {

void read_stage(const CombinedKeys& t) {
  const std::string stage = t.keys.text("stage", "sft");
  if (stage == "pt") return t.assign("data.format", "text", "stage");
  if (stage == "sft") return;
  if (!is_one_of(stage, {"rm", "ppo", "dpo", "kto"})) return t.fail_word("stage", {"sft", "pt"});
  t.fail("stage", base::say("stage {} trains on preferences, which is not supported: only sft and pt are", stage));
}

void read_freeze(const CombinedKeys& t) {
  std::int64_t layers = 2;
  if (t.keys.find("freeze_trainable_layers") == nullptr) t.assign_default("train.trainable_layers", "2");
  t.copy("train.trainable_layers", "freeze_trainable_layers");
  if (base::parse_int(t.keys.text("freeze_trainable_layers", "2"), &layers) && layers == 0)
    t.fail("freeze_trainable_layers", base::say("freeze_trainable_layers takes N or -N, not 0; to train all weights use finetuning_type full"));
  if (t.keys.text("freeze_trainable_modules", "all") != "all")
    t.fail("freeze_trainable_modules", base::say("freeze_trainable_modules takes all: whole layers are trained or frozen"));
  if (const FlatKey* extra = t.keys.find("freeze_extra_modules"); extra != nullptr && !extra->asks_nothing())
    t.fail("freeze_extra_modules", base::say("freeze_extra_modules is not supported: train.freeze names the frozen parts instead"));
}

bool states(const Layer& layer, std::string_view setting) {
  return std::any_of(layer.assignments.begin(), layer.assignments.end(),
                     [&](const Assignment& assignment) { return assignment.field->key() == setting; });
}

void read_lora(const CombinedKeys& t) {
  if (t.keys.find("adapter_name_or_path") != nullptr) {
    if (t.keys.text("adapter_name_or_path").find(',') != std::string::npos)
      t.fail("adapter_name_or_path", base::say("adapter_name_or_path names several folders, but one adapter is trained: merge the others first with troika export --merge"));
    t.copy("lora.path", "adapter_name_or_path");
  } else if (!states(t.layer, "lora.rank")) {  // with an adapter the rank is the adapter's
    t.assign_default("lora.rank", "8");
  }
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
    t.fail("adapter_name_or_path", base::say("adapter_name_or_path goes with finetuning_type lora, not {}: give the merged model's folder as model_name_or_path", type));
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
    t.fail("dataset_dir", base::say("dataset_dir {} means a download, and nothing is downloaded: copy the data into a folder with dataset_info.json", folder));
  } else {
    t.copy("data.folder", "dataset_dir");
  }
}

void read_conversations(const CombinedKeys& t) {
  const std::string name = t.keys.text("template");
  if (name == "alpaca" || name == "chatml") {
    t.assign("data.chat_template", name, "template");
  } else if (!name.empty() && !pretrains(t.keys)) {
    t.layer.notes.push_back(base::say("template {}: the chat template in the model's own folder is used; set data.chat_template to use another", name));
  }
  const bool on_prompt = t.is_on("train_on_prompt"), on_last = t.is_on("mask_history");
  if (on_prompt && on_last) t.fail("mask_history", base::say("mask_history and train_on_prompt are mutually exclusive: omit one of them"));
  if (on_prompt) t.assign("data.loss_on", "all", "train_on_prompt");
  if (on_last) t.assign("data.loss_on", "last_answer", "mask_history");
  t.when_on("disable_shuffling", "data.shuffle", "false");
  const std::vector<std::string> orders = {"random", "sequential", "group_by_length"};
  const std::string order = t.keys.text("train_sampling_strategy", "random");
  if (!is_one_of(order, orders)) return t.fail_word("train_sampling_strategy", orders);
  if (order == "sequential") t.assign("data.shuffle", "false", "train_sampling_strategy");
  const bool packs = t.is_on("packing"), packs_neatly = t.is_on("neat_packing");
  if (pretrains(t.keys)) return t.set_aside({"packing", "neat_packing"});
  if (packs || packs_neatly) t.assign("data.packing", "true", packs_neatly ? "neat_packing" : "packing");
}

}  // namespace

void read_finetuning_keys(const CombinedKeys& combined) {
  for (const auto read : {read_stage, read_method, read_datasets, read_conversations}) read(combined);
}

}  // namespace troika::config
