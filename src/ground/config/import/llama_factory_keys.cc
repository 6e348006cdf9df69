#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/import/flat_keys.h"
#include "config/import/llama_factory.h"
#include "config/spellings.h"

namespace troika::config {
namespace {

using Meaning = LlamaFactoryKey::Meaning;
using Rows = std::vector<LlamaFactoryKey>;

Meaning meaning_named(std::string_view word) {
  constexpr std::array<std::string_view, 5> words = {"spelling", "lora", "combined", "idle", "refused"};
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) throw base::BugError(fmt::format("'{}' is no meaning of a key", word));
  return static_cast<Meaning>(found - words.begin());
}

// A line of tables/llama_factory.txt, which says how they are written.
void read_keys(std::string_view line, Rows* rows) {
  const Meaning meaning = meaning_named(base::cut_at(": ", &line));
  std::string_view keys = base::cut_at(": ", &line);
  while (!keys.empty()) rows->push_back({base::cut_at(" ", &keys), meaning, line});
}

Rows read_table() {
  Rows rows;
  for (const std::string_view line : lines_of_table("llama_factory.txt")) read_keys(line, &rows);
  return rows;
}

}  // namespace

const std::vector<LlamaFactoryKey>& llama_factory_keys() {
  static const Rows all = read_table();
  return all;
}

const LlamaFactoryKey* find_llama_factory_key(std::string_view name) {
  const std::string wanted = normalised(name);
  const LlamaFactoryKey* prefixed = nullptr;
  for (const auto& row : llama_factory_keys()) {
    const std::string known = normalised(row.name);
    if (known == wanted) return &row;
    if (known.back() == '*' && wanted.compare(0, known.size() - 1, known, 0, known.size() - 1) == 0) prefixed = &row;
  }
  return prefixed;
}

const std::vector<LlamaFactoryDefault>& llama_factory_defaults() {
  static const std::vector<LlamaFactoryDefault> rows = {
      {"data.folder", "data"},         {"data.dedup", "false"},
      {"batch.seq_len", "2048"},       {"batch.micro_batch_size", "8"},
      {"parallel.recompute", "full"},  {"optimizer.lr", "5e-05"},
      {"optimizer.min_lr", "0"},       {"optimizer.beta2", "0.999"},
      {"optimizer.weight_decay", "0"}, {"optimizer.lr_schedule", "linear"},
      {"optimizer.lr_at", "start"},
      {"train.epochs", "3"},           {"train.seed", "42"},
      {"checkpoint.every", "500"},     {"checkpoint.every_minutes", "0"},
      {"checkpoint.keep", "1000000"},
  };
  return rows;
}

namespace {

std::string setting_of(std::string_view name) {
  if (const Switch* on = find_switch(name); on != nullptr) return fmt::format("`{}` {}", on->key, on->value);
  const Field* field = find_field(name);
  return field == nullptr ? "" : "`" + field->key() + "`";
}

std::string meaning_of(const LlamaFactoryKey& row) {
  if (row.meaning == Meaning::spelling) return setting_of(row.name);
  if (row.meaning == Meaning::lora) return setting_of(row.name) + ", with `finetuning_type: lora`";
  return std::string(row.text);
}

template <class Wanted>
std::string table(std::string_view heads, Wanted wanted) {
  std::string text = fmt::format("\n{}\n|---|---|\n", heads);
  for (const LlamaFactoryKey& row : llama_factory_keys()) {
    if (wanted(row.meaning)) text += fmt::format("| `{}` | {} |\n", row.name, meaning_of(row));
  }
  return text;
}

constexpr std::string_view introduction = R"(# Files of LLaMA-Factory

This page is printed from the table `src/ground/config/import/tables/llama_factory.txt`; a test compares the two.

`troika train FILE.yaml` reads a YAML file of LLaMA-Factory as it is. A file is taken for one when `stage`,
`finetuning_type`, `do_train`, `template` or `cutoff_len` stands at its top level. Environment and command line override
it as they override any file (`--learning_rate 1e-5`, or `learning_rate=1e-5` as with llamafactory-cli), and sections of
Troika's own (`parallel:`, `comm:`, ...) may stand beside its keys. What it leaves out has LLaMA-Factory's default where
that differs from Troika's. An unknown key is an error with the nearest name. The data are found through
`dataset_info.json` in `dataset_dir`. The steps of `num_train_epochs` are rounded down once, over the whole run: the
samples of a last, incomplete batch are carried over into the next epoch.

`FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 MASTER_ADDR=... MASTER_PORT=29500 troika train FILE.yaml` on every host starts
the ranks as `troika launch` does, `NPROC_PER_NODE` of them, or one for each NVIDIA device, or one.
)";

constexpr std::string_view deepspeed = R"(
## DeepSpeed's JSON

`deepspeed` names a file, looked for as written, below the YAML file's folder and beside it, or is the object itself;
`--deepspeed FILE` does the same on any command line. `"auto"` leaves a value to the YAML file; a number that
contradicts the YAML file, or a flag beside `--deepspeed`, is an error, and so is `"enabled": false` for the precision
that they state. An unknown key of a section below, or one given twice, is an error; everything else is named in a note
and has no effect.

| key | becomes |
|---|---|
| `zero_optimization.stage` | `parallel.zero` |
| `zero_optimization.offload_optimizer.device` | `parallel.offload`: cpu is host, nvme is file |
| `zero_optimization.offload_optimizer.nvme_path` | `parallel.offload_folder` |
| `zero_optimization.cpu_offload` | `parallel.offload` host, where `offload_optimizer` is absent |
| `zero_optimization.offload_param` | no effect: parameters stay where they are computed with |
| `train_micro_batch_size_per_gpu` | `batch.micro_batch_size` |
| `gradient_accumulation_steps` | `batch.accumulation` |
| `train_batch_size` | `batch.global_batch_size` |
| `gradient_clipping` | `optimizer.clip_norm` |
| `bf16.enabled`, `fp16.enabled` | `precision.compute` |
| `fp16.initial_scale_power` | `precision.loss_scale`, 2 to this power |
| `fp16.loss_scale_window`, `min_loss_scale` | `precision.loss_scale_window`, `loss_scale_min` |
| `fp16.loss_scale` | 0; a fixed scale is refused |
| `optimizer` | AdamW and Adam with `lr`, `betas`, `eps`, `weight_decay`; others are refused |
| `tensor_parallel.autotp_size` | `parallel.tp` |
| `scheduler`, `amp`, `zero_optimization.zenflow` | refused |
)";

}  // namespace

std::string llama_factory_markdown() {
  std::string text(introduction);
  text += "\n## Defaults\n\n| setting | where the file says nothing |\n|---|---|\n";
  for (const auto& row : llama_factory_defaults()) text += fmt::format("| `{}` | {} |\n", row.key, row.value);
  text += "\n## What becomes of a key\n";
  text += table("| key | becomes |", [](Meaning meaning) {
    return meaning == Meaning::spelling || meaning == Meaning::lora || meaning == Meaning::combined;
  });
  text += deepspeed;
  text += "\n## Refused\n\nUnless they say `false`, `null` or `none`.\n";
  text += table("| key | why |", [](Meaning meaning) { return meaning == Meaning::refused; });
  text += "\n## Without effect\n\nNamed in one note.\n";
  text += table("| key | why |", [](Meaning meaning) { return meaning == Meaning::idle; });
  return text;
}

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
