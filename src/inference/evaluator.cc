#include "inference/evaluator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "inference/batch_tokens.h"
#include "model/scalar_type.h"

namespace troika::inference {

double Evaluation::perplexity() const { return std::exp(loss); }

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
  setup.boundary.dtype = model::scalar_type(plan.precision());
  return setup;
}

executor::Setup Evaluator::setup(const plan::Plan& plan, const Computing& computing) {
  executor::Setup setup = setup_of(plan, computing.place, computing.tensor, computing.context, computing.streams);
  setup.activations = shape::SavedActivations::none;
  setup.source = [this](std::int64_t, int microbatch) { return load(microbatch); };
  return setup;
}

Evaluator::Evaluator(const plan::Plan& plan, const schedule::Program& program, const data::Samples& samples,
                     const Computing& computing)
    : samples_(samples),
      context_(computing.context),
      device_(computing.streams.device()),
      micro_(plan.resolved.batch.micro),
      microbatches_(program.microbatches),
      executor_(program, setup(plan, computing), computing.channels, computing.units, computing.ledger,
                computing.observer) {}

model::Tokens Evaluator::load(int microbatch) const {
  const std::int64_t first = (round_ * microbatches_ + microbatch) * micro_;
  std::vector<std::uint64_t> rows;
  for (std::int64_t sample = first; sample < std::min(first + micro_, samples_.samples()); ++sample)
    rows.push_back(static_cast<std::uint64_t>(sample));
  data::TokenBatch batch;
  data::fill_batch(samples_, rows, micro_, &batch);
  return tokens_of(batch, context_, device_);
}

Evaluation Evaluator::run(std::int64_t step, const AfterRound& after_round) {
  const double begin = base::monotonic_seconds();
  const std::int64_t all = (samples_.samples() - 1) / micro_ + 1;
  Evaluation result;
  result.samples = samples_.samples();
  executor::StepSettings settings;
  settings.step = step;
  std::vector<double> losses;
  for (round_ = 0; round_ * microbatches_ < all; ++round_) {
    const executor::StepResult round = executor_.run(settings);
    losses.insert(losses.end(), round.losses.begin(), round.losses.end());
    result.tokens += round.tokens;
    if (after_round) after_round(std::min(all, (round_ + 1) * microbatches_));
  }
  losses.resize(static_cast<std::size_t>(all));  // what stands behind has no rows
  if (result.tokens == 0) throw base::DataError("the data to evaluate on have no position with a target");
  result.loss = std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(result.tokens);
  result.seconds = base::monotonic_seconds() - begin;
  return result;
}

}  // namespace troika::inference
