#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
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

}  // namespace troika::config
