// The layers a run's settings are merged from: preset, YAML, environment, command line. A source reads into a Layer;
// merge_layers() lays them on top of each other.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/fields.h"
#include "config/settings/settings.h"

namespace troika::config {

// One value for one setting, and where it stood ("--steps", "run.yaml line 3", "BATCH_SIZE in the environment").
struct Assignment {
  const Field* field;
  std::string value;
  base::Text origin;
};

struct Layer {
  std::vector<Assignment> assignments;  // in order; the last one for a field counts
  std::vector<base::Text> notes;
  std::vector<base::Text> errors;
};

struct MergedSettings {
  Settings settings;
  std::set<std::string> stated;  // keys that a layer states
  std::vector<base::Text> notes;
  std::vector<base::Text> errors;
};

// Whether a model.path is followed: its config.json read, and what lora.path says of its adapter. Settings that were stored state every number of it.
enum class Paths { followed, left };

// Lowest layer first. The model preset of the highest layer that names one goes below all of them, and the layer of
// train.preset (presets.h) between it and the first. So does the model at the model.path of the highest layer that
// names one: it replaces model presets of lower layers, one of an equal or higher layer is an error, and
// so is every single model setting that differs from the model's shape or formulas; its folder
// becomes data.tokenizer where that is stated nowhere and tokenizer.json is there. What lora.path says of its adapter is taken
// as model_layer.h says. DataError when the path leads to no
// model that is supported, unless there are other errors, which then include this one. A layer replaces what it
// contradicts in lower ones, and what it leaves open is derived again:
//   - a batch number replaces the lower spellings of the same quantity (batch.h); when all three quantities
//     are then given, lower microbatches give way first, then a lower total;
//   - pp, tp, cp or dp: a lower number of microbatches gives way when the other two quantities are given, so the same
//     global batch is cut anew; without dp, a lower dp becomes what remains of the world;
//   - shares: lower microbatches, batch_size and accumulation; dp or microbatches: lower shares;
//   - pp, virtual_stages, layers or middle_layers: a lower stage_layers gives way, for the last two stage_costs as well;
//   - stage_layers, stage_costs or stage_balance: the lower ones of the other two;
//   - schedule: a lower schedule_file, and a lower virtual_stages unless it says interleaved; virtual_stages: a lower
//     schedule that does not go with it; pp 1: a lower virtual_stages and a lower interleaved;
//   - epochs without steps: a lower steps gives way.
// For architecture gpt2 without a preset or path, settings that no layer gives follow from width and heads: kv_heads,
// head_dim, ffn.
MergedSettings merge_layers(const std::vector<Layer>& layers, Paths paths);

// Reads sections with keys, and familiar spellings at top level. `origin` is the file's name for messages. All errors
// of the content are collected in the layer, each with its line; after 100 the rest is not read. At most 1 MiB of text.
Layer read_yaml(const std::string& text, base::Origin origin);

}  // namespace troika::config
