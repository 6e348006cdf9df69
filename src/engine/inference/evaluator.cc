#include "inference/evaluator.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/cause.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/exact_math.h"
#include "base/say.h"
#include "model/decoder.h"
#include "tensor/device.h"
#include "tensor/operations.h"

namespace troika::inference {

double perplexity_of(double loss) { return base::exp(loss); }

executor::Setup setup_of(const plan::Plan& plan, const executor::Place& place, sharding::TensorGroup& tensor,
                         sharding::ContextGroup& context, tensor::Streams& streams) {
  const config::Batch& batch = plan.resolved.batch;
  executor::Setup setup;
  setup.place = place;
  setup.tensor_group = &tensor;
  setup.context_group = &context;
  setup.streams = &streams;
  setup.boundary.loss_rows = batch.tokens_per_microbatch > 0 ? batch.tokens_per_microbatch : batch.micro * batch.seq_len;
  setup.boundary.largest_M = plan.largest_rows(place.at).M;
  setup.boundary.D = plan.model().hidden;
  setup.boundary.dtype = model::dtype_of(plan.precision());
  return setup;
}

executor::Setup Evaluator::setup(const plan::Plan& plan, const Computing& computing) {
  executor::Setup setup = setup_of(plan, computing.place, computing.tensor, computing.context, computing.streams);
  setup.activations = shape::SavedActivations::none;
  setup.load = [this](std::int64_t, int microbatch) { return load(microbatch); };
  setup.shape = [this](std::int64_t, int microbatch) { return shape(microbatch); };
  return setup;
}

static std::vector<shape::Range> microbatches_of(const config::Batch& batch, const data::Samples& samples) {
  data::BatchRules rules = data::rules_of(batch);
  rules.global = samples.samples();
  return data::Batches(samples, {samples.samples(), 0, data::SampleOrder::natural}, rules).of_step(0);
}

Evaluator::Evaluator(const plan::Plan& plan, const schedule::Program& program, const data::Samples& samples,
                     std::vector<data::SourcePart> sources, const Computing& computing, Sharing sharing)
    : samples_(samples),
      program_(program),
      costs_(plan::position_costs(plan.model())),
      sharing_(sharing),
      context_(computing.context),
      device_(computing.streams.device()),
      wholes_(microbatches_of(plan.resolved.batch, samples)),
      at_once_(program.microbatches / plan::room_of_evaluation(plan)),
      executor_(program, setup(plan, computing), computing.channels, computing.units, computing.ledger,
                computing.observer) {
  if (sources.size() > 1) place_sources(std::move(sources));
}

std::int64_t Evaluator::tokens_of_samples(std::int64_t first, std::int64_t count) const {
  std::int64_t tokens = 0;
  for (std::int64_t sample = first; sample < first + count; ++sample) {
    const std::vector<std::int32_t> targets = data::read_batch(samples_, {sample}, sample).targets;
    tokens += std::count_if(targets.begin(), targets.end(), [](auto id) { return id != data::ignore_index; });
  }
  return tokens;
}

void Evaluator::place_sources(std::vector<data::SourcePart> parts) {
  std::int64_t begin = 0;
  std::size_t m = 0;  // the first microbatch that ends behind `begin`
  for (data::SourcePart& part : parts) {
    const std::int64_t end = begin + part.samples;
    Source source{std::move(part), tokens_of_samples(begin, part.samples), 0, 0, {}};
    while (m < wholes_.size() && wholes_[m].end() <= begin) ++m;
    source.first = source.end = m < wholes_.size() && wholes_[m].begin < begin ? m + 1 : m;
    for (std::size_t i = m; i < wholes_.size() && wholes_[i].begin < end; ++i) {
      const shape::Range of_source = shape::common(wholes_[i], {begin, part.samples});
      const bool own = of_source.count == wholes_[i].count;
      if (own) source.end = i + 1;
      if (own) continue;
      source.pieces.push_back(pieces_.size());
      pieces_.push_back(of_source);
    }
    sources_.push_back(std::move(source));
    begin = end;
  }
}

// By the round's number of the microbatch.
std::vector<std::int64_t> Evaluator::samples_of(int microbatch) const {
  const shape::Range& wanted = round_[static_cast<std::size_t>(microbatch)];
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(wanted.count));
  std::iota(numbers.begin(), numbers.end(), wanted.begin);
  return numbers;
}

model::Tokens Evaluator::load(int microbatch) const {
  return tokens_of(data::read_batch(samples_, samples_of(microbatch), 0), context_, device_);
}

model::Tokens Evaluator::shape(int microbatch) const {
  return model::lay_out(data::sequences_of(samples_, samples_of(microbatch), 0), context_, device_);
}

std::vector<int> Evaluator::distribute() const {
  if (sharing_ == Sharing::in_order) {
    std::vector<int> all(static_cast<std::size_t>(program_.microbatches), plan::no_microbatch);
    std::iota(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(round_.size()), 0);
    return all;
  }
  std::vector<double> costs;
  for (std::size_t m = 0; m < round_.size(); ++m)
    costs.push_back(costs_.of(data::sequences_of(samples_, samples_of(static_cast<int>(m)), 0)));
  return plan::distribute(program_, costs);
}

// The losses of microbatches, in as many rounds as they need.
std::vector<double> Evaluator::run_rounds(const std::vector<shape::Range>& microbatches, std::int64_t step, std::int64_t* tokens,
                                          const AfterRound& after_round) {
  executor::StepSettings settings;
  settings.step = step;
  std::vector<double> losses;
  for (auto next = microbatches.begin(); next != microbatches.end(); next += static_cast<std::ptrdiff_t>(round_.size())) {
    const std::ptrdiff_t count = std::min<std::ptrdiff_t>(at_once_, microbatches.end() - next);
    round_.assign(next, next + count);
    settings.microbatches = distribute();
    const executor::StepResult round = executor_.run(settings);
    losses.insert(losses.end(), round.losses.begin(), round.losses.begin() + count);
    *tokens += round.tokens;
    if (after_round) after_round(round_);
  }
  return losses;
}

std::vector<SourceLoss> Evaluator::losses_of_sources(const std::vector<double>& whole,
                                                     const std::vector<double>& pieces) const {
  std::vector<SourceLoss> all;
  for (const Source& source : sources_) {
    double sum = 0;
    for (std::size_t m = source.first; m < source.end; ++m) sum += whole[m];
    for (const std::size_t piece : source.pieces) sum += pieces[piece];
    const double loss = source.tokens > 0 ? sum / static_cast<double>(source.tokens) : std::nan("");
    all.push_back({source.part.name, loss, source.tokens, source.part.samples});
  }
  return all;
}

Evaluation Evaluator::run(std::int64_t step, const AfterRound& after_round) {
  const double begin = base::monotonic_seconds();
  Evaluation result;
  result.samples = samples_.samples();
  const std::vector<double> losses =
      run_rounds(wholes_, step, &result.tokens, after_round);
  if (result.tokens == 0)
    throw base::DataError(base::say("the evaluation data have no position with a target"),
                          base::Cause::no_training_tokens);
  result.loss = std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(result.tokens);
  if (!sources_.empty()) {
    std::int64_t counted_already = 0;
    const auto pieces = run_rounds(pieces_, step, &counted_already, {});
    result.sources = losses_of_sources(losses, pieces);
  }
  result.seconds = base::monotonic_seconds() - begin;
  return result;
}

model::Tokens tokens_of(const data::TokenBatch& batch, const sharding::ContextGroup& context, const tensor::Device& device) {
  model::Tokens tokens = model::lay_out(batch.sequences, context, device);
  const std::vector<std::int64_t> own = context.own_rows(batch.sequences);
  const auto rows = [&](const std::vector<std::int32_t>& all, std::int64_t filling) {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(tokens.M), filling);
    for (std::size_t i = 0; i < own.size(); ++i) ids[i] = all[static_cast<std::size_t>(own[i])];
    return tensor::to_device(tensor::of(ids), device);
  };
  tokens.ids_M = rows(batch.inputs, 0);
  tokens.targets_M = rows(batch.targets, data::ignore_index);
  return tokens;
}

EvaluationRank::EvaluationRank(const plan::Plan& plan, const data::Samples& samples,
                               std::vector<data::SourcePart> sources, comm::RankChannels& channels,
                               tensor::Streams& streams, executor::Observer& observer, const model::OnLogits& on_logits)
    : plan_(plan), channels_(channels) {
  const int rank = channels.world->rank();
  const executor::Place place{rank, plan.shape, mesh::coordinate_of(plan.shape, rank)};
  if (plan.shape.tp > 1) tensor_group_ = sharding::TensorGroup(*channels.tp, plan.sequence_parallel());
  if (plan.shape.cp > 1) context_group_ = sharding::ContextGroup(*channels.cp);
  units_ = weights::make_units(plan, place.at,
                               model::make_segments(plan.model(), plan.resolved.batch.seq_len, streams.device(),
                                                    {&tensor_group_, &context_group_}, on_logits),
                               streams, ledger_);
  evaluator_ = std::make_unique<Evaluator>(plan, plan.program, samples, std::move(sources),
                                           Computing{place,
                                                     {*channels.world, *channels.pp, *channels.replicas},
                                                     units_,
                                                     tensor_group_,
                                                     context_group_,
                                                     streams,
                                                     ledger_,
                                                     observer},
                                           on_logits ? Evaluator::Sharing::in_order : Evaluator::Sharing::by_costs);
}

void EvaluationRank::load(const weights::FillWeights& fill) {
  weights::load_frozen(units_, fill);
  evaluator_->publish_parameters();
}

Evaluation EvaluationRank::evaluate(const Evaluator::AfterRound& after_round) {
  const Evaluation result = evaluator_->run(0, after_round);
  comm::prove_order(channels_);
  return result;
}

}  // namespace troika::inference
