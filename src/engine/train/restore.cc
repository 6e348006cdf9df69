#include "train/restore.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/units.h"
#include "shape/adapter.h"
#include "train/reproducibility.h"
#include "weights/checkpoint_source.h"
#include "weights/rank_units.h"

namespace troika::train {
namespace {

using weights::Access;
using weights::Selection;

bool has_adapters(const plan::Plan& plan) { return shape::has_adapters(plan.settings().lora); }

void load_weights(weights::ModelSource& source, const RestoreTarget& target) {
  const plan::Plan& plan = target.plan;
  const weights::FillWeights fill = [&](const auto& wanted) { source.load(plan.model(), wanted, target.world); };
  if (!has_adapters(plan)) {
    fill(weights::slices_of(target.units, Selection::held, target.place).weights);
    weights::finish_access(target.units, Access::written);
  }
  if (plan.freezes()) weights::load_frozen(target.units, fill);
  target.note(base::say("weights: {} parameters ({}) from {}; this rank read {} of {}",
                        base::format_count(shape::parameter_count(plan.model())), source.dtype(), plan.model().path,
                        base::format_bytes(source.bytes_read()), base::format_bytes(source.bytes())));
}

void load_checkpoint(const InitialState& initial, const RestoreTarget& target) {
  restore_trained(*initial.found, target);
  if (has_adapters(target.plan)) {
    load_weights(*initial.source, target);
  } else if (target.plan.freezes()) {
    const weights::FillWeights fill = [&](const auto& wanted) {
      checkpoint::load(*initial.found, wanted, target.world);
    };
    weights::load_frozen(target.units, fill);
  }
}

void load_adapters(weights::AdapterSource& adapter, const RestoreTarget& target) {
  adapter.load(weights::slices_of(target.units, Selection::held, target.place).weights, target.world);
  weights::finish_access(target.units, Access::written);
  target.note(base::say("adapters from {}", target.plan.settings().lora.path));
}

void start_over(const InitialState& initial, const RestoreTarget& target) {
  const std::uint64_t seed = target.plan.settings().train.seed;
  const double init_std = target.plan.model().init_std;
  if (initial.source == nullptr || has_adapters(target.plan)) weights::initialise_trained(target.units, seed, init_std);
  if (initial.adapter != nullptr) load_adapters(*initial.adapter, target);
  if (initial.source != nullptr) return load_weights(*initial.source, target);
  weights::initialise_frozen(target.units, seed, init_std);
  if (target.plan.freezes())
    target.note(base::say("the frozen parts have random weights: --model.path PATH loads those of a model"));
}

}  // namespace

base::Text differences_from(const checkpoint::Found& found, const config::Settings& now) {
  base::Text sentence;
  try {
    sentence = different_sums(weights::settings_of(found), now);
  } catch (const base::ConfigError& error) {  // settings of another version
    sentence = base::say("the checkpoint's settings cannot be compared with this run's ({})", base::text_of(error));
  }
  return note_or_refuse(now, sentence);
}

void restore_parameters(const InitialState& initial, const RestoreTarget& target) {
  if (initial.found) {
    load_checkpoint(initial, target);
  } else {
    start_over(initial, target);
  }
}

void restore_trained(const checkpoint::Found& found, const RestoreTarget& target) {
  const weights::Slices slices = weights::slices_of(target.units, Selection::held, target.place);
  std::vector<checkpoint::Slice> wanted = slices.weights;
  wanted.insert(wanted.end(), slices.state.begin(), slices.state.end());
  checkpoint::load(found, wanted, target.world);
  weights::finish_access(target.units, Access::written);
}

namespace {

std::vector<std::string> keys_of_order(const config::Settings& saved, const config::Settings& now) {
  if (!saved.data.shuffle && !now.data.shuffle) return {};
  return {"data.shuffle", "train.seed"};
}

}  // namespace

void refuse_other_order(const config::Settings& saved, const config::Settings& now, const DataPosition& at) {
  const base::Text changed = differences(keys_of_order(saved, now), saved, now);
  if (changed.empty() || !at.within_epoch()) return;
  throw base::ConfigError(base::say(
      "since the checkpoint {}: from sample {} of {} on, an epoch would continue in a different order, repeating some samples and skipping others; set it back, or start a new run with another --out",
      changed, at.seen % at.samples, at.samples));
}

base::Text changed_settings(const config::Settings& saved, const config::Settings& now) {
  std::vector<std::string> keys{"optimizer.lr",    "optimizer.min_lr",       "optimizer.lr_schedule", "optimizer.decay",
                                "optimizer.lr_at", "optimizer.weight_decay", "optimizer.beta1",       "optimizer.beta2",
                                "optimizer.eps",   "optimizer.clip_norm",    "lora.dropout",          "train.products"};
  if (saved.train.steps == now.train.steps)
    keys.insert(keys.end(), {"optimizer.warmup_steps", "optimizer.decay_steps"});
  for (const std::string& key : keys_of_order(saved, now)) keys.push_back(key);
  const base::Text changed = differences(keys, saved, now);
  return changed.empty() ? base::Text{}
                         : base::say("since the checkpoint {}: the run continues with the new values", changed);
}

base::Text changed_batch(const config::Settings& saved, const config::Settings& now, std::int64_t done,
                         std::int64_t steps) {
  const auto before = saved.batch.global_batch_size, after = now.batch.global_batch_size;
  if (!before || !after || *before == *after) return {};
  return base::say("the global batch changed from {} to {}: {} of {} remain", *before, *after,
                   std::max<std::int64_t>(0, steps - done), base::counted_text(steps, "step"));
}

std::int64_t steps_of_epochs(double epochs, const DataPosition& at, std::int64_t done, std::int64_t global_batch) {
  const double left = epochs * static_cast<double>(at.samples) - static_cast<double>(at.seen);
  return done + std::max<std::int64_t>(0, static_cast<std::int64_t>(left / static_cast<double>(global_batch)));
}

}  // namespace troika::train
