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
  setup.boundary.B = batch.micro;
  setup.boundary.T = plan.positions(place.at);
  setup.boundary.T_whole = batch.seq_len;
  setup.boundary.rows = plan.rows(place.at);
  setup.boundary.D = plan.model().hidden;
  setup.boundary.dtype = model::dtype_of(plan.precision());
  return setup;
}

executor::Setup Evaluator::setup(const plan::Plan& plan, const Computing& computing) {
  executor::Setup setup = setup_of(plan, computing.place, computing.tensor, computing.context, computing.streams);
  setup.activations = shape::SavedActivations::none;
  setup.source = [this](std::int64_t, int microbatch) { return load(microbatch); };
  return setup;
}

Evaluator::Evaluator(const plan::Plan& plan, const schedule::Program& program, const data::Samples& samples,
                     std::vector<data::SourcePart> sources, const Computing& computing)
    : samples_(samples),
      context_(computing.context),
      device_(computing.streams.device()),
      micro_(plan.resolved.batch.micro),
      microbatches_(program.microbatches),
      executor_(program, setup(plan, computing), computing.channels, computing.units, computing.ledger,
                computing.observer) {
  if (sources.size() > 1) place_sources(std::move(sources));
}

std::int64_t Evaluator::tokens_of_samples(std::int64_t first, std::int64_t count) const {
  std::vector<std::int32_t> inputs(static_cast<std::size_t>(samples_.seq_len())), targets = inputs;
  std::int64_t tokens = 0;
  for (std::int64_t sample = first; sample < first + count; ++sample) {
    samples_.read(sample, inputs.data(), targets.data());
    tokens += std::count_if(targets.begin(), targets.end(), [](auto id) { return id != data::ignore_index; });
  }
  return tokens;
}

void Evaluator::place_sources(std::vector<data::SourcePart> parts) {
  std::int64_t begin = 0;
  for (data::SourcePart& part : parts) {
    const std::int64_t end = begin + part.samples;
    Source source{std::move(part), tokens_of_samples(begin, part.samples), 0, 0, {}};
    source.first = source.end = (begin + micro_ - 1) / micro_;
    for (std::int64_t m = begin / micro_; m * micro_ < end; ++m) {
      const std::int64_t from = std::max(m * micro_, begin), to = std::min((m + 1) * micro_, end);
      const bool own = from == m * micro_ && to == std::min((m + 1) * micro_, samples_.samples());
      if (own) source.end = m + 1;
      if (own) continue;
      source.pieces.push_back(pieces_.size());
      pieces_.push_back({from, to - from});
    }
    sources_.push_back(std::move(source));
    begin = end;
  }
}

shape::Range Evaluator::rows_of(std::int64_t microbatch) const {
  const auto place = static_cast<std::size_t>(microbatch);
  if (pass_ == Pass::pieces) return place < pieces_.size() ? pieces_[place] : shape::Range{};
  const std::int64_t first = microbatch * micro_;
  return {first, std::max<std::int64_t>(0, std::min(micro_, samples_.samples() - first))};
}

model::Tokens Evaluator::load(int microbatch) const {
  const shape::Range wanted = rows_of(round_ * microbatches_ + microbatch);
  std::vector<std::uint64_t> rows;
  for (std::int64_t i = 0; i < wanted.count; ++i) rows.push_back(static_cast<std::uint64_t>(wanted.begin + i));
  data::TokenBatch batch;
  data::fill_batch(samples_, rows, micro_, &batch);
  return tokens_of(batch, context_, device_);
}

// The losses of so many microbatches, in as many rounds as they need; what is behind has no rows.
std::vector<double> Evaluator::run_rounds(std::int64_t microbatches, std::int64_t step, std::int64_t* tokens,
                                          const AfterRound& after_round) {
  executor::StepSettings settings;
  settings.step = step;
  std::vector<double> losses;
  for (round_ = 0; round_ * microbatches_ < microbatches; ++round_) {
    const executor::StepResult round = executor_.run(settings);
    losses.insert(losses.end(), round.losses.begin(), round.losses.end());
    *tokens += round.tokens;
    if (after_round) after_round(std::min(microbatches, (round_ + 1) * microbatches_));
  }
  losses.resize(static_cast<std::size_t>(microbatches));
  return losses;
}

std::vector<SourceLoss> Evaluator::losses_of_sources(const std::vector<double>& whole,
                                                     const std::vector<double>& pieces) const {
  std::vector<SourceLoss> all;
  for (const Source& source : sources_) {
    double sum = 0;
    for (std::int64_t m = source.first; m < source.end; ++m) sum += whole[static_cast<std::size_t>(m)];
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
  pass_ = Pass::whole;
  const std::vector<double> losses =
      run_rounds((samples_.samples() - 1) / micro_ + 1, step, &result.tokens, after_round);
  if (result.tokens == 0)
    throw base::DataError(base::say("the evaluation data have no position with a target"),
                          base::Cause::no_training_tokens);
  result.loss = std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(result.tokens);
  if (!sources_.empty()) {
    pass_ = Pass::pieces;
    std::int64_t counted_already = 0;
    const auto pieces = run_rounds(static_cast<std::int64_t>(pieces_.size()), step, &counted_already, {});
    result.sources = losses_of_sources(losses, pieces);
  }
  result.seconds = base::monotonic_seconds() - begin;
  return result;
}

namespace {

// For every element of the batch, the position at which its document begins; [B, T].
tensor::Tensor document_begins(const data::TokenBatch& batch) {
  const tensor::Tensor begins_BT = tensor::zeros({batch.rows, batch.length}, tensor::Dtype::int64);
  auto* begins = begins_BT.data<std::int64_t>();
  for (std::size_t i = 0; i < batch.document_starts.size(); ++i) {
    const std::int64_t start = batch.document_starts[i], row_end = (start / batch.length + 1) * batch.length;
    const bool last = i + 1 == batch.document_starts.size();
    const std::int64_t end = last ? row_end : std::min(row_end, batch.document_starts[i + 1]);
    std::fill(begins + start, begins + end, start % batch.length);
  }
  return begins_BT;
}

// positions_t - begins_Bt, [B, t].
tensor::Tensor places_in_documents(const tensor::Tensor& positions_t, const tensor::Tensor& begins_Bt) {
  const tensor::Tensor places_Bt = begins_Bt.clone();
  const auto* const position = positions_t.data<std::int64_t>();
  auto* const place = places_Bt.data<std::int64_t>();
  for (std::int64_t i = 0; i < places_Bt.elements(); ++i) place[i] = position[i % positions_t.elements()] - place[i];
  return places_Bt;
}

}  // namespace

model::Tokens tokens_of(const data::TokenBatch& batch, const sharding::ContextGroup& context,
                        const tensor::Device& device) {
  const tensor::Tensor positions_t = tensor::of(context.positions(batch.length));
  const auto own = [&](const tensor::Tensor& all_BT) {
    return context.size() > 1 ? tensor::rows_of(all_BT.t(), positions_t).t() : all_BT;
  };
  const auto own_rows = [&](const std::vector<std::int32_t>& ids) {
    const tensor::Tensor all =
        tensor::borrow(const_cast<std::int32_t*>(ids.data()), {batch.rows, batch.length}, tensor::Dtype::int32);
    return tensor::to_device(own(all).to(tensor::Dtype::int64).flatten(), device);
  };
  model::Tokens tokens;
  tokens.ids_M = own_rows(batch.inputs);
  tokens.targets_M = own_rows(batch.targets);
  tokens.B = batch.rows;
  tokens.T = positions_t.elements();
  tokens.T_whole = batch.length;
  if (batch.documents == shape::Documents::apart) {
    const tensor::Tensor begins_Bt = own(document_begins(batch));
    tokens.documents = context.documents(begins_Bt, batch.length, device);
    tokens.position_BT = tensor::to_device(places_in_documents(positions_t, begins_Bt), device);
  }
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
                                                     observer});
}

void EvaluationRank::load(const weights::FillWeights& fill) {
  weights::load_frozen(plan_, units_, fill, ledger_);
  evaluator_->publish_parameters();
}

Evaluation EvaluationRank::evaluate(const Evaluator::AfterRound& after_round) {
  const Evaluation result = evaluator_->run(0, after_round);
  comm::prove_order(channels_);
  return result;
}

}  // namespace troika::inference
