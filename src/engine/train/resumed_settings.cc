#include "train/resumed_settings.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "config/fields.h"

namespace troika::train {
namespace {

base::Text difference(const std::string& key, const config::Settings& saved, const config::Settings& now) {
  const config::Field& field = config::field_of(key);
  const std::string before = config::get_text(field, saved), after = config::get_text(field, now);
  return before == after ? base::Text{} : base::say("{} was {} and is {}", key, before, after);
}

base::Text differences(const std::vector<std::string>& keys, const config::Settings& saved,
                       const config::Settings& now) {
  std::vector<base::Text> found;
  for (const std::string& key : keys) {
    if (base::Text text = difference(key, saved, now); !text.empty()) found.push_back(std::move(text));
  }
  return base::join(found, ", ", "，");
}

std::vector<std::string> keys_of_order(const config::Settings& saved, const config::Settings& now) {
  if (!saved.data.shuffle && !now.data.shuffle) return {};
  return {"data.shuffle", "train.seed"};
}

}  // namespace

void refuse_other_order(const config::Settings& saved, const config::Settings& now, const DataPosition& at) {
  const base::Text changed = differences(keys_of_order(saved, now), saved, now);
  if (changed.empty() || !at.within_epoch()) return;
  throw base::ConfigError(base::say(
      "since the checkpoint {}: from sample {} of {} on an epoch would continue in another order, with some samples "
      "twice and others never; set it back, or begin a new run with another --out",
      changed, at.seen % at.samples, at.samples));
}

base::Text changed_settings(const config::Settings& saved, const config::Settings& now) {
  std::vector<std::string> keys{"optimizer.lr",     "optimizer.min_lr", "optimizer.lr_schedule",
                                "optimizer.decay",  "optimizer.lr_at",  "optimizer.weight_decay",
                                "optimizer.beta1",  "optimizer.beta2",  "optimizer.eps",
                                "optimizer.clip_norm", "lora.dropout", "train.products"};
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
  return base::say("the global batch was {} and is {}: {} of {} remain", *before, *after,
                   std::max<std::int64_t>(0, steps - done), base::counted_text(steps, "step"));
}

std::int64_t steps_of_epochs(double epochs, const DataPosition& at, std::int64_t done, std::int64_t global_batch) {
  const double left = epochs * static_cast<double>(at.samples) - static_cast<double>(at.seen);
  return done + std::max<std::int64_t>(0, static_cast<std::int64_t>(left / static_cast<double>(global_batch)));
}

}  // namespace troika::train
