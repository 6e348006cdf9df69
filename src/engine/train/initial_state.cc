#include "train/initial_state.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "config/lora.h"
#include "inference/sampling.h"
#include "shape/adapter.h"
#include "weights/weights_folder.h"
#include "weights/checkpoint_source.h"

namespace troika::train {
namespace {

// A run that starts over and is restarted by its launcher: checkpoints of earlier launches are ignored.
void find_of_launch(const Attempt& attempt, const std::string& root, comm::Channel& world, InitialState* initial) {
  if (!attempt.restarted || attempt.launch.empty()) return;
  std::vector<base::Text> rejected;
  auto found = checkpoint::find_newest(root, world, &rejected);
  if (!found || weights::fact_of(*found, weights::launch_fact) != attempt.launch) return;
  initial->rejected = found->rejected;
  initial->found = std::move(found);
}

void find_checkpoint(const config::TrainSettings& train, const Attempt& attempt, comm::Channel& world,
                     InitialState* initial) {
  const std::string root = train.out + "/checkpoints";
  const auto resume = config::word_or(train.resume, config::Resume::path);
  initial->same_run = resume != config::Resume::path;
  if (resume == config::Resume::never) return find_of_launch(attempt, root, world, initial);
  initial->found = resume == config::Resume::newest
                       ? checkpoint::find_newest(root, world, &initial->rejected)
                       : std::optional<checkpoint::Found>(checkpoint::open_at(train.resume, world));
  if (!initial->found && !initial->rejected.empty())
    throw base::DataError(
        base::say("no checkpoint in '{}' is usable, so nothing was changed; repair one, or start over with --resume never (or another --out)\n  {}",
                    root, base::join(initial->rejected, "\n  ", "\n  ")));
  if (initial->found) initial->rejected = initial->found->rejected;
}

// A resumed run stays the child of the folder it once began from.
void remember_from_checkpoint(InitialState* initial) {
  const checkpoint::Facts& facts = initial->found->facts;
  initial->config_json = facts.model_config_json;
  for (const char* name : {weights::weights_dtype_fact, weights::weights_from_fact, weights::base_fingerprint_fact}) {
    const auto fact = facts.extra.find(name);
    if (fact != facts.extra.end()) initial->facts.insert(*fact);
  }
}

// The parts that a run trains, in words.
base::Text parts_of(const config::Settings& s) {
  if (shape::has_adapters(s.lora)) {
    const config::LoraSettings lora = config::with_plain_sizes(s.lora, s.model.layers);
    std::vector<base::Text> parts{base::say("adapters of rank {}, scale {:g}, of {}", lora.rank,
                                            config::usual_size(lora).scale,
                                            base::join(config::lora_targets(lora), ", "))};
    if (!lora.rank_pattern.empty()) parts.push_back(base::say("with ranks {}", lora.rank_pattern));
    if (!lora.alpha_pattern.empty()) parts.push_back(base::say("with alphas {}", lora.alpha_pattern));
    return base::join(parts, ", ", "，");
  }
  std::vector<std::string> frozen;
  const std::vector<bool> trained = config::trained_segments(s);
  for (std::size_t segment = 0; segment < trained.size(); ++segment)
    if (!trained[segment]) frozen.push_back(std::to_string(segment));
  return frozen.empty() ? base::say("all weights") : base::say("all but the segments {}", base::join(frozen, ", "));
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
    before = weights::settings_of(found).model;
  } catch (const base::ConfigError&) {  // settings of another version: what differs shows when tensors are read
    return;
  }
  for (const auto& [name, dimension] : dimensions) {
    if (before.*dimension == now.*dimension) continue;
    throw base::ConfigError(
        base::say("the run of the checkpoint '{0}' has model.{1} {2}, this one {3}: resume with {2}, or start over with another --out, where --model.path {0} loads its weights, even into a model of fewer layers",
                    found.path, name, before.*dimension, now.*dimension));
  }
}

// Their optimizer state is that of the parts which were trained.
void refuse_other_parts(const checkpoint::Found& found, const config::Settings& now) {
  base::Text before;
  try {
    before = parts_of(weights::settings_of(found));
  } catch (const base::ConfigError&) {  // settings of another version, which knew no parts
    before = base::say("all weights");
  }
  if (before.english == parts_of(now).english) return;
  throw base::ConfigError(
      base::say("the run of the checkpoint '{0}' trains {1}, this one {2}: resume with the original lora and train.freeze, or start over from its weights with --model.path {0} and another --out",
                  found.path, before, parts_of(now)));
}

void open_base(const plan::Plan& plan, comm::Channel& world, InitialState* initial) {
  initial->source = weights::open_model(plan.model().path, world, plan.model().base);
  initial->source->check(plan.model());
}

void refuse_other_base(const std::string& adapters, const std::string& before, const plan::Plan& plan,
                       const weights::ModelSource& source) {
  const std::string now = source.fingerprint();
  if (before == now) return;
  throw base::DataError(base::say(
      "the adapters of '{}' were trained on weights with the fingerprint {}, but those at model.path '{}' have {}; name the weights they belong to, in their original form (an export of a run counts as other weights)",
      adapters, before, plan.model().path, now));
}

void open_first_adapter(const plan::Plan& plan, comm::Channel& world, InitialState* initial) {
  const config::LoraSettings& lora = plan.settings().lora;
  if (lora.path.empty()) return;
  initial->adapter = weights::open_adapter(lora.path, world);
  initial->adapter->check(plan.model(), lora);
  if (const std::string beside = initial->adapter->base_fingerprint(); !beside.empty())
    refuse_other_base(lora.path, beside, plan, *initial->source);
  for (const auto& info : initial->adapter->parameters()) {
    const auto module = config::adapted_module(weights::module_of(info.name));
    if (!module) continue;
    const double scale = config::adapter_size(initial->adapter->lora(), *module).scale,
                 mine = config::adapter_size(lora, *module).scale;
    if (std::fabs(scale - mine) <= 1e-9 * scale) continue;
    throw base::ConfigError(
        base::say("lora.path '{}' has adapters of {} with scale {:g}, this run's is {:g}: omit lora.alpha, lora.rslora and lora.alpha_pattern to use the adapter's",
                    lora.path, word_of(module->projection), scale, mine));
  }
}

// Found now rather than by generate and chat after the training, which copies the file.
void note_generation_config(const InitialState& initial, std::int64_t vocab, std::vector<base::Text>* notes) {
  const std::string path = weights::generation_config_in(initial.source->auxiliary_files());
  if (path.empty()) return;
  try {
    const inference::GenerationConfig config =
        inference::parse_generation_config(base::read_file(path), "'" + path + "'");
    const base::Text foreign = inference::foreign_stop_ids(config, vocab);
    if (!foreign.empty()) notes->push_back(base::say("'{}': {}", path, foreign));
  } catch (const base::DataError& error) {
    notes->push_back(base::say(
        "{}; training does not need the file, but generate and chat reject it unless --generation-config none skips it: fix or remove it",
        base::text_of(error)));
  }
}

void gather_notes(const plan::Plan& plan, InitialState* initial) {
  if (initial->source == nullptr) return;
  initial->notes = initial->source->notes();
  if (initial->adapter != nullptr) {
    for (const base::Text& note : initial->adapter->notes()) initial->notes.push_back(note);
  }
  note_generation_config(*initial, plan.model().vocab, &initial->notes);
}

}  // namespace

InitialState find_initial_state(const plan::Plan& plan, const Attempt& attempt, comm::Channel& world) {
  InitialState initial;
  find_checkpoint(plan.settings().train, attempt, world, &initial);
  const bool adapts = shape::has_adapters(plan.settings().lora);
  if (initial.found) {
    refuse_other_shape(*initial.found, plan.model());
    refuse_other_parts(*initial.found, plan.settings());
    remember_from_checkpoint(&initial);
  }
  if ((adapts || !initial.found) && !plan.model().path.empty()) open_base(plan, world, &initial);
  if (adapts && initial.source != nullptr) {
    if (initial.found) {
      refuse_other_base(initial.found->path, weights::fact_of(*initial.found, weights::base_fingerprint_fact), plan,
                        *initial.source);
    }
    initial.facts[weights::base_fingerprint_fact] = initial.source->fingerprint();
  }
  if (initial.found || initial.source == nullptr) {
    gather_notes(plan, &initial);
    return initial;
  }
  initial.config_json = initial.source->config_json();
  const auto facts = initial.source->facts();
  initial.facts.insert(facts.begin(), facts.end());
  if (adapts) open_first_adapter(plan, world, &initial);
  gather_notes(plan, &initial);
  return initial;
}

}  // namespace troika::train
