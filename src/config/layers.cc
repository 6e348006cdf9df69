#include "config/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "config/model_layer.h"
#include "config/run_presets.h"

namespace troika::config {
namespace {

using Stated = std::set<std::string>;

template <class... Keys>
bool states(const Stated& stated, Keys... keys) {
  return (... || (stated.count(keys) > 0));
}

// The three quantities of batch.h, each with its spellings.
bool has_micro(const BatchSettings& b) { return b.micro_batch_size.has_value(); }
bool has_number(const BatchSettings& b) { return b.microbatches || b.num_microbatches; }
bool has_total(const BatchSettings& b) { return b.global_batch_size || b.total_batch_size || b.batch_size; }

void drop_number(BatchSettings* b) {
  b->microbatches.reset();
  b->num_microbatches.reset();
  if (!b->batch_size) b->accumulation = 1;
}

void drop_total(BatchSettings* b) {
  b->global_batch_size.reset();
  b->total_batch_size.reset();
  b->batch_size.reset();
}

struct Quantities {
  bool micro, number, total;
};

Quantities stated_quantities(const Stated& s) {
  return {states(s, "batch.micro_batch_size"), states(s, "batch.microbatches", "batch.num_microbatches"),
          states(s, "batch.global_batch_size", "batch.total_batch_size", "batch.batch_size")};
}

void make_way_for_batch(const Stated& s, BatchSettings* b) {
  const Quantities now = stated_quantities(s);
  const bool accumulates = states(s, "batch.accumulation");
  if (accumulates) {
    b->microbatches.reset();
    b->global_batch_size.reset();
    b->total_batch_size.reset();
  }
  if (states(s, "batch.microbatches")) b->accumulation = 1;
  if (now.micro) b->micro_batch_size.reset();
  if (now.number) {
    b->microbatches.reset();
    b->num_microbatches.reset();
  }
  if (now.total) drop_total(b);

  const bool micro = now.micro || has_micro(*b);
  const bool number = now.number || has_number(*b);
  const bool total = now.total || has_total(*b);
  const bool layout = states(s, "parallel.dp", "parallel.pp", "parallel.tp", "parallel.cp", "batch.seq_len");
  const bool per_rank_total = states(s, "batch.batch_size") || b->batch_size.has_value();
  if (micro && number && total && (now.micro || now.number || now.total || (layout && !per_rank_total))) {
    if (!now.number) {
      drop_number(b);
    } else if (!now.total) {
      drop_total(b);
    } else if (!now.micro) {
      b->micro_batch_size.reset();
    }
  }
  // Rounds stated below mean nothing once the sequences per forward and per step are both given.
  if (micro && !number && now.total && !accumulates && !per_rank_total) b->accumulation = 1;
}

// One of three says where stages are cut, and two of them count layers.
void make_way_for_stages(const Stated& s, ParallelSettings* p) {
  const bool layers = states(s, "model.layers", "model.middle_layers");
  const bool balance = states(s, "parallel.stage_balance");
  if (layers || balance || states(s, "parallel.pp", "parallel.virtual_stages", "parallel.stage_costs")) {
    p->stage_layers.clear();
  }
  if (layers || balance || states(s, "parallel.stage_layers")) p->stage_costs.clear();
  if (states(s, "parallel.stage_layers", "parallel.stage_costs")) p->stage_balance = ParallelSettings{}.stage_balance;
  if (states(s, "parallel.schedule")) p->schedule_file.clear();
}

void make_way(const Stated& s, Settings* lower) {
  make_way_for_batch(s, &lower->batch);
  make_way_for_stages(s, &lower->parallel);
  if (states(s, "parallel.pp", "parallel.tp", "parallel.cp") && !states(s, "parallel.dp")) lower->parallel.dp = 0;
  if (states(s, "train.epochs") && !states(s, "train.steps")) lower->train.steps = 0;
}

void set_stages(std::int64_t virtual_stages, const Stated& s, ParallelSettings* p) {
  if (p->virtual_stages == virtual_stages) return;
  p->virtual_stages = virtual_stages;
  if (!states(s, "parallel.stage_layers")) p->stage_layers.clear();
}

// Schedule and virtual_stages belong together: what a layer says of one replaces what lower ones say of the other.
void fit_schedule(const Stated& s, ParallelSettings* p) {
  const bool schedule = states(s, "parallel.schedule");
  const bool stages = states(s, "parallel.virtual_stages");
  const bool is_interleaved = p->schedule == "interleaved";
  const bool leaves_pipeline = states(s, "parallel.pp") && p->pp == 1 && !schedule && !stages;
  if ((schedule && !stages && !is_interleaved) || leaves_pipeline) set_stages(1, s, p);
  const bool contradicts = stages && !schedule && is_interleaved == (p->virtual_stages == 1);
  if (contradicts || (leaves_pipeline && is_interleaved)) p->schedule = ParallelSettings{}.schedule;
}

void lay(const Layer& layer, Pile* pile) {
  Stated stated;
  for (const auto& assignment : layer.assignments) stated.insert(assignment.field->key());
  make_way(stated, &pile->settings);
  for (const auto& [field, value, origin] : layer.assignments) {
    if (field->key() == "model.preset") continue;  // already below
    const std::string wrong = set_text(*field, value, &pile->settings);
    if (wrong.empty()) continue;
    const bool named = normalised(origin) == field->flag();
    pile->errors.push_back(named ? origin + " " + wrong : fmt::format("{}: {} {}", origin, field->key(), wrong));
  }
  fit_schedule(stated, &pile->settings.parallel);
}

void lay_all(const std::vector<Layer>& layers, Pile* pile) {
  for (const auto& layer : layers) lay(layer, pile);
}

void lay_on_preset(const std::vector<Layer>& layers, Pile* pile) {
  lay_preset(layers, pile);
  lay_all(layers, pile);
}

// On the model at their path, or on their preset.
void lay_on_model(const std::vector<Layer>& layers, Pile* pile) {
  const std::optional<PathModel> model = read_path_model(layers, pile);
  if (!model) return lay_on_preset(layers, pile);
  pile->settings = model->settings;
  lay_all(layers, pile);
  check_against(*model, layers, pile);
}

}  // namespace

Pile pile(const std::vector<Layer>& given, Paths paths) {
  std::vector<Layer> layers{run_preset_layer(given)};
  layers.insert(layers.end(), given.begin(), given.end());
  Pile result;
  for (const auto& layer : layers) {
    result.errors.insert(result.errors.end(), layer.errors.begin(), layer.errors.end());
    result.notes.insert(result.notes.end(), layer.notes.begin(), layer.notes.end());
  }
  if (paths == Paths::left) {
    lay_on_preset(layers, &result);
    return result;
  }
  try {
    lay_on_model(layers, &result);
  } catch (const base::DataError& error) {
    lay_all(layers, &result);
    if (result.errors.empty()) throw;
    result.errors.emplace_back(error.what());
  }
  return result;
}

}  // namespace troika::config
