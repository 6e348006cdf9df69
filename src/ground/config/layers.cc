#include "config/layers.h"

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/batch.h"
#include "config/presets.h"
#include "config/model_layer.h"

namespace troika::config {
namespace {

using Stated = std::set<std::string>;

template <class... Keys>
bool states(const Stated& stated, Keys... keys) {
  return (... || (stated.count(keys) > 0));
}

// Whether a layer states the quantity, in any spelling.
bool states(const Stated& stated, BatchQuantity quantity) {
  return std::any_of(batch_spellings.begin(), batch_spellings.end(), [&](const BatchSpelling& spelling) {
    return spelling.quantity == quantity && stated.count("batch." + std::string(spelling.name)) > 0;
  });
}

// Clears the values that `s` replaces: other spellings of its quantities, and, where it counts rounds, the counts of steps.
void replace_spellings(const Stated& s, BatchSettings* lower) {
  for (const BatchSpelling& spelling : batch_spellings) {
    const bool counts_steps = spelling.quantity != BatchQuantity::micro && spelling.per == BatchSpelling::Per::step;
    if (states(s, spelling.quantity) || (counts_steps && states(s, "batch.accumulation")))
      (lower->*spelling.member).reset();
  }
  if (states(s, "batch.microbatches")) lower->accumulation = 1;
}

void make_way_for_batch(const Stated& s, BatchSettings* lower) {
  using Q = BatchQuantity;
  replace_spellings(s, lower);
  const auto given = [&](Q quantity) { return states(s, quantity) || states(*lower, quantity); };
  const bool micro = given(Q::micro), number = given(Q::microbatches), total = given(Q::total);
  const bool any_now = states(s, Q::micro) || states(s, Q::microbatches) || states(s, Q::total);
  const bool layout = states(s, "parallel.dp", "parallel.pp", "parallel.tp", "parallel.cp", "batch.seq_len");
  const bool total_per_rank = states(s, "batch.batch_size") || lower->batch_size.has_value();
  if (micro && number && total && (any_now || (layout && !total_per_rank))) {
    for (const Q third : {Q::microbatches, Q::total, Q::micro}) {
      if (states(s, third)) continue;
      clear(lower, third);
      if (third == Q::microbatches && !lower->batch_size) lower->accumulation = 1;
      break;
    }
  }
  // Rounds stated below mean nothing once the sequences per forward and per step are both given.
  const bool rounds_are_open = !states(s, "batch.accumulation") && !total_per_rank;
  if (micro && !number && states(s, Q::total) && rounds_are_open) lower->accumulation = 1;
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

// Shares are the microbatches of each data-parallel rank.
void make_way_for_shares(const Stated& s, Settings* lower) {
  if (states(s, "parallel.dp") || states(s, BatchQuantity::microbatches)) lower->parallel.shares.clear();
  if (!states(s, "parallel.shares")) return;
  clear(&lower->batch, BatchQuantity::microbatches);
  lower->batch.batch_size.reset();
  lower->batch.accumulation = 1;
}

void make_way(const Stated& s, Settings* lower) {
  make_way_for_shares(s, lower);
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
  const bool is_interleaved = p->schedule == Schedule::interleaved;
  const bool leaves_pipeline = states(s, "parallel.pp") && p->pp == 1 && !schedule && !stages;
  if ((schedule && !stages && !is_interleaved) || leaves_pipeline) set_stages(1, s, p);
  const bool contradicts = stages && !schedule && is_interleaved == (p->virtual_stages == 1);
  if (contradicts || (leaves_pipeline && is_interleaved)) p->schedule = ParallelSettings{}.schedule;
}

void lay(const Layer& layer, MergedSettings* merged) {
  Stated stated;
  for (const auto& assignment : layer.assignments) stated.insert(assignment.field->key());
  merged->stated.insert(stated.begin(), stated.end());
  make_way(stated, &merged->settings);
  for (const auto& [field, value, origin] : layer.assignments) {
    if (field->key() == "model.preset") continue;  // already below
    const auto wrong = set_text(*field, value, &merged->settings);
    if (!wrong) continue;
    const bool named = normalised(origin.english) == field->flag();
    merged->errors.push_back(named ? base::say("{} {}", origin, *wrong)
                                   : base::say("{}: {} {}", origin, field->key(), *wrong));
  }
  fit_schedule(stated, &merged->settings.parallel);
}

void lay_all(const std::vector<Layer>& layers, MergedSettings* merged) {
  for (const auto& layer : layers) lay(layer, merged);
}

// GPT-2's sizes follow from its width and heads where no preset has them.
void derive_gpt2_sizes(const Stated& stated, ModelSettings* model) {
  if (model->architecture != Family::gpt2 || states(stated, "model.preset")) return;
  if (!states(stated, "model.kv_heads")) model->kv_heads = model->heads;
  if (!states(stated, "model.head_dim")) model->head_dim = std::max<std::int64_t>(model->hidden / model->heads, 2);
  if (!states(stated, "model.ffn")) model->ffn = 4 * model->hidden;
}

void lay_on_preset(const std::vector<Layer>& layers, MergedSettings* merged) {
  lay_preset(layers, merged);
  lay_all(layers, merged);
  Stated stated;
  for (const Layer& layer : layers) {
    for (const Assignment& assignment : layer.assignments) stated.insert(assignment.field->key());
  }
  if (merged->errors.empty()) derive_gpt2_sizes(stated, &merged->settings.model);
}

// On the model at their path, or on their preset.
void lay_on_model(const std::vector<Layer>& layers, MergedSettings* merged) {
  const std::optional<PathModel> model = read_path_model(layers, merged);
  if (!model) {
    lay_on_preset(layers, merged);
    return take_adapter(layers, merged);
  }
  merged->settings = model->settings;
  lay_all(layers, merged);
  check_against(*model, layers, merged);
  take_adapter(layers, merged);
}

}  // namespace

MergedSettings merge_layers(const std::vector<Layer>& given, Paths paths) {
  std::vector<Layer> layers{run_preset_layer(given)};
  layers.insert(layers.end(), given.begin(), given.end());
  MergedSettings result;
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
    result.errors.push_back(base::text_of(error));
  }
  return result;
}

}  // namespace troika::config
