#include "train/engine.h"

#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "plan/memory_check.h"
#include "weights/rank_units.h"

namespace troika::train {

std::vector<std::string> names_of(const std::vector<shape::ParameterInfo>& parameters) {
  std::vector<std::string> names;
  for (const auto& info : parameters) names.push_back(info.name);
  return names;
}

Engine::Engine(const plan::Plan& plan, const data::Samples& dataset, EvaluationData valid, comm::RankChannels& channels,
               std::shared_ptr<tensor::Streams> streams, RankActivity* rank_activity, const SegmentMaker& make_segments)
    : plan_(plan),
      dataset_(dataset),
      valid_(std::move(valid)),
      channels_(channels),
      streams_(std::move(streams)),
      place_{channels.world->rank(), plan.shape, mesh::coordinate_of(plan.shape, channels.world->rank())},
      costs_(plan::position_costs(plan.model())),
      recorder_(Recorder::Of::training, rank_activity, streams_.get()),
      evaluation_recorder_(Recorder::Of::evaluation, rank_activity, streams_.get()) {
  if (plan.shape.tp > 1) tensor_group_ = sharding::TensorGroup(*channels.tp, plan.sequence_parallel());
  if (plan.shape.cp > 1) context_group_ = sharding::ContextGroup(*channels.cp);
  units_ =
      weights::make_units(plan, place_.at, make_segments({&tensor_group_, &context_group_}), *streams_, ledger_);
  const executor::Channels exchanges{*channels.world, *channels.pp, *channels.replicas};
  executor_ = std::make_unique<executor::Executor>(plan.program, setup(), exchanges, units_, ledger_, recorder_);
  if (valid_.samples != nullptr && !plan.evaluation.ranks.empty())
    evaluator_ = std::make_unique<inference::Evaluator>(
        plan, plan.evaluation, *valid_.samples, valid_.sources,
        inference::Computing{place_, exchanges, units_, tensor_group_, context_group_, *streams_, ledger_,
                             evaluation_recorder_});
  const int grid_rank = plan.program.grid_rank(place_.at.pp, place_.at.dp);
  for (const schedule::Instruction& i : plan.program.ranks[static_cast<std::size_t>(grid_rank)])
    if (i.kind == schedule::Kind::load) loads_.push_back(i.microbatch);
  if (rank_activity != nullptr)
    rank_activity->planned(plan::computing_of_step(plan, mesh::grid_rank_of(plan.shape, place_.world_rank)),
                         place_.at.pp);
}

executor::Setup Engine::setup() {
  executor::Setup setup = inference::setup_of(plan_, place_, tensor_group_, context_group_, *streams_);
  setup.activations = plan_.saved_activations();
  setup.load = [this](std::int64_t step, int microbatch) { return load_tokens(step, microbatch); };
  setup.shape = [this](std::int64_t, int microbatch) { return shape_of(microbatch); };
  setup.parameter_names = names_of(plan_.trained_parameters());
  setup.checksums = executor::checksums_for(plan_.settings().train.checksums, streams_->device());
  return setup;
}

// Here steps count from 0, in the executor from 1.
void Engine::read_from(const RunProgress& progress) {
  const config::Settings& settings = plan_.settings();
  data::BatchRules rules = data::rules_of(plan_.resolved.batch);
  rules.start_step = progress.step;
  rules.start_sample = progress.samples;
  loader_.reset();
  batches_ = std::make_unique<const data::Batches>(dataset_, data::sampler_of(dataset_, settings), rules);
  check_room(progress);
  if (!loads_.empty())
    loader_ = std::make_unique<data::Loader>(*batches_, [this](std::int64_t step) { return loaded_in(step); }, settings.data.prefetch);
}

// The program has room for the steps that were planned, which begin with the first sample.
void Engine::check_room(const RunProgress& progress) const {
  const data::BatchRules& rules = batches_->rules();
  const std::int64_t left = plan_.steps - progress.step;
  if (rules.tokens == 0 || progress.samples == progress.step * rules.global || left < 1) return;
  const std::int64_t most = data::sizes_of(*batches_, 1, left).in_step;
  if (most > plan_.program.microbatches)
    throw base::ConfigError(base::say("from step {} on a step has up to {} microbatches of {} tokens, but the program has room for {}: resume with the --global-batch-size of the checkpoint, or give a larger --batch.tokens-per-microbatch",
                                      progress.step + 1, most, rules.tokens, plan_.program.microbatches));
}

Engine::StepBatch Engine::batch_of(std::int64_t step) const {
  StepBatch batch;
  batch.samples = batches_->of_step(step);
  std::vector<double> costs;
  for (const shape::Range& microbatch : batch.samples)
    costs.push_back(dataset_.are_full() ? static_cast<double>(microbatch.count) : costs_.of(batches_->sequences(microbatch)));
  batch.microbatches = plan::distribute(plan_.program, costs);
  return batch;
}

// The loader reads ahead beyond the run's last step too, for which the program may have no room: nobody asks for what fails there.
std::vector<data::Loader::Wanted> Engine::loaded_in(std::int64_t step) const {
  const StepBatch batch = batch_of(step);
  std::vector<data::Loader::Wanted> loaded;
  for (const int place : loads_)
    if (const int microbatch = batch.microbatches[static_cast<std::size_t>(place)]; microbatch != plan::no_microbatch)
      loaded.push_back({microbatch, batch.samples[static_cast<std::size_t>(microbatch)]});
  return loaded;
}

model::Tokens Engine::load_tokens(std::int64_t step, int microbatch) {
  const data::TokenBatch batch = reading_ == Reading::again ? batches_->read(batch_.samples.at(static_cast<std::size_t>(microbatch)))
                                                            : loader_->next(step - 1, microbatch);
  return inference::tokens_of(batch, context_group_, streams_->device());
}

model::Tokens Engine::shape_of(int microbatch) const {
  const shape::Range& samples = batch_.samples.at(static_cast<std::size_t>(microbatch));
  return model::lay_out(batches_->sequences(samples), context_group_, streams_->device());
}

executor::StepResult Engine::run(executor::StepSettings step, Reading reading) {
  reading_ = reading;
  batch_ = batch_of(step.step - 1);
  if (loader_ != nullptr) loader_->begin_step(step.step - 1);
  step.microbatches = batch_.microbatches;
  return executor_->run(step);
}

void Engine::await_device() {
  recorder_.await_device([this] {
    for (const auto* channel : {&channels_.world, &channels_.pp, &channels_.tp, &channels_.cp, &channels_.replicas})
      (*channel)->check();
  });
}

std::optional<Engine::DeviceMemory> Engine::device_memory() const {
  const tensor::Device& device = streams_->device();
  if (device.is_cpu()) return std::nullopt;
  const int grid_rank = mesh::grid_rank_of(plan_.shape, place_.world_rank);
  return DeviceMemory{device.accelerator().memory(device), plan::memory_in(plan_, grid_rank, plan::Room::Where::gpu)};
}

}  // namespace troika::train
