#include "train/origin.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "config/freeze.h"
#include "config/lora.h"
#include "model/adapter.h"
#include "train/checkpoint_facts.h"

namespace troika::train {
namespace {

// A run that begins anew and is started again by its launcher: earlier launches' checkpoints stay out of it.
void find_of_launch(const Attempt& attempt, const std::string& root, comm::Channel& world, Origin* origin) {
  if (!attempt.restarted || attempt.launch.empty()) return;
  std::vector<std::string> rejected;
  auto found = checkpoint::find_newest(root, world, &rejected);
  if (!found || fact_of(*found, launch_fact) != attempt.launch) return;
  origin->rejected = found->rejected;
  origin->found = std::move(found);
}

void find_checkpoint(const config::TrainSettings& train, const Attempt& attempt, comm::Channel& world, Origin* origin) {
  const std::string root = train.out + "/checkpoints";
  origin->goes_on = train.resume == "auto" || train.resume == "never";
  if (train.resume == "never") return find_of_launch(attempt, root, world, origin);
  origin->found = train.resume == "auto" ? checkpoint::find_newest(root, world, &origin->rejected)
                                         : std::optional<checkpoint::Found>(checkpoint::open_at(train.resume, world));
  if (!origin->found && !origin->rejected.empty()) {
    throw base::DataError(
        fmt::format("no checkpoint in '{}' can be used, so nothing was touched; repair one, or start "
                    "anew with --resume never (or another --out)\n  {}",
                    root, base::join(origin->rejected, "\n  ")));
  }
  if (origin->found) origin->rejected = origin->found->rejected;
}

// A run that goes on stays the child of the folder it once began from.
void remember_from_checkpoint(Origin* origin) {
  const checkpoint::Facts& facts = origin->found->facts;
  origin->config_json = facts.model_config_json;
  for (const char* name : {weights_dtype_fact, weights_from_fact, base_fingerprint_fact}) {
    const auto fact = facts.extra.find(name);
    if (fact != facts.extra.end()) origin->facts.insert(*fact);
  }
}

// What a run trains, in words.
std::string parts_of(const config::Settings& s) {
  if (model::has_adapters(s.lora)) {
    return fmt::format("adapters of rank {}, scale {:g}, of {}", s.lora.rank, model::adapter_scale(s.lora),
                       base::join(config::lora_targets(s.lora), ", "));
  }
  std::vector<std::string> frozen;
  const std::vector<bool> trained = config::trained_segments(s);
  for (std::size_t segment = 0; segment < trained.size(); ++segment) {
    if (!trained[segment]) frozen.push_back(std::to_string(segment));
  }
  return frozen.empty() ? "all weights" : "all but the segments " + base::join(frozen, ", ");
}

using Dimension = std::int64_t config::ModelSettings::*;
constexpr std::pair<const char*, Dimension> dimensions[] = {
    {"layers", &config::ModelSettings::layers},     {"hidden", &config::ModelSettings::hidden},
    {"heads", &config::ModelSettings::heads},       {"kv_heads", &config::ModelSettings::kv_heads},
    {"head_dim", &config::ModelSettings::head_dim}, {"ffn", &config::ModelSettings::ffn},
};

void refuse_other_shape(const checkpoint::Found& found, const config::ModelSettings& now) {
  config::ModelSettings before;
  try {
    before = settings_of(found).model;
  } catch (const base::ConfigError&) {  // settings of another version: what differs shows when tensors are read
    return;
  }
  for (const auto& [name, dimension] : dimensions) {
    if (before.*dimension == now.*dimension) continue;
    throw base::ConfigError(
        fmt::format("the run of the checkpoint '{0}' has model.{1} {2}, this one {3}: go on with {2}, or begin anew "
                    "with another --out, where --model.path {0} gives its weights, to a model of fewer layers too",
                    found.path, name, before.*dimension, now.*dimension));
  }
}

// Their optimizer state is that of the parts which were trained.
void refuse_other_parts(const checkpoint::Found& found, const config::Settings& now) {
  std::string before;
  try {
    before = parts_of(settings_of(found));
  } catch (const base::ConfigError&) {  // settings of another version, which knew no parts
    before = "all weights";
  }
  if (before == parts_of(now)) return;
  throw base::ConfigError(
      fmt::format("the run of the checkpoint '{0}' trains {1}, this one {2}: go on with lora and train.freeze as they "
                  "were, or begin anew from its weights with --model.path {0} and another --out",
                  found.path, before, parts_of(now)));
}

void open_base(const Plan& plan, comm::Channel& world, Origin* origin) {
  origin->source = open_model(plan.model().path, world, plan.model().base);
  origin->source->check(plan.model());
}

void refuse_other_base(const std::string& adapters, const std::string& before, const Plan& plan,
                       const ModelSource& source) {
  const std::string now = source.fingerprint();
  if (before == now) return;
  throw base::DataError(fmt::format(
      "the adapters of '{}' were trained beside weights with the fingerprint {}, but those at model.path '{}' have {}; "
      "name the weights they belong to, in the form they had then (an export of a run counts as other weights)",
      adapters, before, plan.model().path, now));
}

void open_first_adapter(const Plan& plan, comm::Channel& world, Origin* origin) {
  const config::LoraSettings& lora = plan.settings().lora;
  if (lora.path.empty()) return;
  origin->adapter = open_adapter(lora.path, world);
  origin->adapter->check(plan.model(), lora);
  if (const std::string beside = origin->adapter->base_fingerprint(); !beside.empty())
    refuse_other_base(lora.path, beside, plan, *origin->source);
  const double scale = model::adapter_scale(origin->adapter->lora());
  if (scale == model::adapter_scale(lora)) return;
  throw base::ConfigError(
      fmt::format("lora.path '{}' has adapters that count {:g} times (alpha / rank), this run's {:g}: "
                  "set --lora.alpha {:g}",
                  lora.path, scale, model::adapter_scale(lora), scale * static_cast<double>(lora.rank)));
}

}  // namespace

Origin find_origin(const Plan& plan, const Attempt& attempt, comm::Channel& world) {
  Origin origin;
  find_checkpoint(plan.settings().train, attempt, world, &origin);
  const bool adapts = model::has_adapters(plan.settings().lora);
  if (origin.found) {
    refuse_other_shape(*origin.found, plan.model());
    refuse_other_parts(*origin.found, plan.settings());
    remember_from_checkpoint(&origin);
  }
  if ((adapts || !origin.found) && !plan.model().path.empty()) open_base(plan, world, &origin);
  if (adapts && origin.source != nullptr) {
    if (origin.found) {
      refuse_other_base(origin.found->path, fact_of(*origin.found, base_fingerprint_fact), plan, *origin.source);
    }
    origin.facts[base_fingerprint_fact] = origin.source->fingerprint();
  }
  if (origin.found || origin.source == nullptr) return origin;
  origin.config_json = origin.source->config_json();
  const auto facts = origin.source->facts();
  origin.facts.insert(facts.begin(), facts.end());
  if (adapts) open_first_adapter(plan, world, &origin);
  return origin;
}

}  // namespace troika::train
