#include "train/saver.h"

#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "shape/adapter.h"
#include "weights/auxiliary_files.h"
#include "weights/bucket_slices.h"
#include "weights/checkpoint_metadata.h"
#include "weights/hugging_face_config.h"
#include "weights/rank_units.h"

namespace troika::train {
namespace {

// As the publisher of the model recommends to generate; "": as the tokenizer's folder says, if it does.
std::string generation_config_of(const InitialState& initial) {
  if (initial.found) return weights::generation_config_in(weights::auxiliary_files_of(*initial.found));
  return initial.source == nullptr ? "" : weights::generation_config_in(initial.source->auxiliary_files());
}

std::map<std::string, std::string> constant_facts(const plan::Plan& plan, const InitialState& initial,
                                                  const SavedRun& run) {
  std::map<std::string, std::string> facts = initial.facts;
  facts["data_fingerprint"] = plan.data.fingerprint;
  facts[weights::tokenizer_fact] = plan.settings().data.tokenizer;
  if (!run.launch.empty()) facts[weights::launch_fact] = run.launch;
  return facts;
}

}  // namespace

Saver::Saver(const plan::Plan& plan, const InitialState& initial, const SavedRun& run, comm::Channel& world)
    : plan_(plan),
      world_(world),
      config_json_(weights::hugging_face_config(plan.model(), "fp32", initial.config_json)),
      facts_(constant_facts(plan, initial, run)),
      tokenizer_(
          plan.settings().train.out,
          [&] { return weights::auxiliary_texts(run.tokenizer, run.chat_template, generation_config_of(initial)); },
          world) {}

void Saver::save(const TrainerState& state, const optimizer::LossScale& scale,
                 const optimizer::GradientExponents& exponents, const executor::Units& units,
                 const executor::Place& place) {
  const config::Settings& settings = plan_.settings();
  checkpoint::SaveRequest request;
  request.root = settings.train.out + "/checkpoints";
  request.facts.step = state.step;
  request.facts.settings_yaml = config::to_yaml(settings);
  request.facts.model_config_json = config_json_;
  request.facts.extra = facts_of(state, scale, exponents);
  request.facts.extra.insert(facts_.begin(), facts_.end());
  request.keep = settings.checkpoint.keep;
  if (settings.checkpoint.keep_best && state.best.step > 0) request.protect = {state.best.step};
  weights::Slices slices = weights::slices_of(units, weights::Selection::written, place);
  request.weights = std::move(slices.weights);
  if (!shape::has_adapters(settings.lora)) {
    const std::vector<checkpoint::Slice> frozen = weights::frozen_slices_of(units, place);
    request.weights.insert(request.weights.end(), frozen.begin(), frozen.end());
  }
  request.state = std::move(slices.state);
  request.model_files = tokenizer_.files();
  try {
    checkpoint::save(request, world_);
  } catch (...) {
    weights::finish_access(units, weights::Access::read);
    throw;
  }
  weights::finish_access(units, weights::Access::read);
}

}  // namespace troika::train
