// The microbatches of each step: their samples and the sequences of which they consist. Both follow from lengths and counters alone,
// so every rank knows the rows of every microbatch before any data are read.
#pragma once

#include <cstdint>
#include <vector>

#include "config/resolve.h"
#include "data/samples.h"
#include "plan/microbatch_sizes.h"
#include "records/sample_lengths.h"
#include "shape/region.h"
#include "shape/sequences.h"

namespace troika::data {

// One microbatch, its sequences end to end: no position is there for anything else.
struct TokenBatch {
  std::vector<shape::Sequence> sequences;
  std::vector<std::int32_t> inputs;   // of every position
  std::vector<std::int32_t> targets;  // the token after it; ignore_index: no loss there
};

// The sequences of the samples with these numbers. `first`: the global index of the first of them, which the others follow.
std::vector<shape::Sequence> sequences_of(const Samples& samples, const std::vector<std::int64_t>& numbers, std::int64_t first);
TokenBatch read_batch(const Samples& samples, const std::vector<std::int64_t>& numbers, std::int64_t first);

// Step s has the samples with the global indices start_sample + (s - start_step) * global and on.
struct BatchRules {
  std::int64_t global = 1;  // samples per step, all ranks
  std::int64_t micro = 1;   // samples per microbatch; the last of a step may have fewer
  std::int64_t tokens = 0;  // above 0: a microbatch has as many samples as fit into so many positions, one at least
  std::int64_t start_step = 0;
  std::int64_t start_sample = 0;  // start_step * global unless the batch size was changed on the way
};

BatchRules rules_of(const config::Batch& batch);  // from the first sample on

// Threads: const, safe. `samples` must outlive it.
class Batches {
 public:
  Batches(const Samples& samples, const Sampler& sampler, const BatchRules& rules)
      : samples_(samples), sampler_(sampler), rules_(rules) {}

  // The global sample indices of each of a step's microbatches, in order.
  std::vector<shape::Range> of_step(std::int64_t step) const;
  std::vector<shape::Sequence> sequences(const shape::Range& microbatch) const;
  std::int64_t targets(const shape::Range& microbatch) const;  // positions that carry loss
  TokenBatch read(const shape::Range& microbatch) const;
  const BatchRules& rules() const { return rules_; }

 private:
  std::vector<std::int64_t> numbers(const shape::Range& microbatch) const;

  const Samples& samples_;
  const Sampler sampler_;
  const BatchRules rules_;
};

// The sizes of the microbatches of `steps` steps, at least 1, by the lengths of all their samples.
shape::MicrobatchSizes sizes_of(const Batches& batches, int cp, std::int64_t steps);

// So many samples are counted at most, and microbatches of so many: evenly spaced ones of one epoch.
inline constexpr std::int64_t most_counted = std::int64_t{1} << 20;

// The lengths of a run's samples. Reads lengths alone, no tokens. At least one whole step is counted.
records::SampleLengths lengths_of(const Samples& samples, const Sampler& sampler, const BatchRules& rules,
                                  const plan::PositionCosts& costs, std::int64_t most = most_counted);

}  // namespace troika::data
