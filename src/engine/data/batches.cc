#include "data/batches.h"

#include <algorithm>

#include "plan/lengths.h"

namespace troika::data {

std::vector<shape::Sequence> sequences_of(const Samples& samples, const std::vector<std::int64_t>& numbers, std::int64_t first) {
  std::vector<shape::Sequence> all;
  for (const std::int64_t number : numbers) {
    std::int64_t offset = 0;
    for (const std::int64_t length : samples.lengths(number)) {
      all.push_back({length, first, offset});
      offset += length;
    }
    ++first;
  }
  return all;
}

TokenBatch read_batch(const Samples& samples, const std::vector<std::int64_t>& numbers, std::int64_t first) {
  TokenBatch batch;
  batch.sequences = sequences_of(samples, numbers, first);
  const auto positions = static_cast<std::size_t>(shape::count_rows(batch.sequences, 0, 1));
  batch.inputs.resize(positions);
  batch.targets.resize(positions);
  auto sequence = batch.sequences.begin();
  std::int64_t row = 0;
  for (const std::int64_t number : numbers) {
    samples.read(number, batch.inputs.data() + row, batch.targets.data() + row);
    for (; sequence != batch.sequences.end() && sequence->sample == first; ++sequence) row += sequence->length;
    ++first;
  }
  return batch;
}

BatchRules rules_of(const config::Batch& batch) {
  BatchRules rules;
  rules.global = batch.global;
  rules.micro = batch.micro;
  rules.tokens = batch.tokens_per_microbatch;
  return rules;
}

std::vector<shape::Range> Batches::of_step(std::int64_t step) const {
  const std::int64_t begin = rules_.start_sample + (step - rules_.start_step) * rules_.global;
  std::vector<shape::Range> microbatches;
  if (rules_.tokens == 0) {
    for (std::int64_t first = 0; first < rules_.global; first += rules_.micro)
      microbatches.push_back({begin + first, std::min(rules_.micro, rules_.global - first)});
    return microbatches;
  }
  std::int64_t positions = rules_.tokens;
  for (std::int64_t sample = begin; sample < begin + rules_.global; ++sample) {
    const std::int64_t length = shape::count_rows(sequences({sample, 1}), 0, 1);
    if (positions + length > rules_.tokens) {
      microbatches.push_back({sample, 0});
      positions = 0;
    }
    ++microbatches.back().count;
    positions += length;
  }
  return microbatches;
}

std::vector<std::int64_t> Batches::numbers(const shape::Range& microbatch) const {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = microbatch.begin; i < microbatch.end(); ++i)
    numbers.push_back(static_cast<std::int64_t>(sampler_.sample_at(static_cast<std::uint64_t>(i))));
  return numbers;
}

std::vector<shape::Sequence> Batches::sequences(const shape::Range& microbatch) const {
  return sequences_of(samples_, numbers(microbatch), microbatch.begin);
}

std::int64_t Batches::targets(const shape::Range& microbatch) const {
  std::int64_t sum = 0;
  for (const std::int64_t number : numbers(microbatch)) sum += samples_.targets(number);
  return sum;
}

TokenBatch Batches::read(const shape::Range& microbatch) const {
  return read_batch(samples_, numbers(microbatch), microbatch.begin);
}

shape::MicrobatchSizes sizes_of(const Batches& batches, int cp, std::int64_t steps) {
  const BatchRules& rules = batches.rules();
  shape::MicrobatchSizes sizes;
  sizes.most_rows.assign(static_cast<std::size_t>(cp), 0);
  std::int64_t microbatches = 0;
  std::vector<std::int64_t> first_lengths;
  bool last_is_other = false;  // than the first
  for (std::int64_t step = rules.start_step; step < rules.start_step + steps; ++step) {
    const std::vector<shape::Range> of_step = batches.of_step(step);
    sizes.in_step = std::max(sizes.in_step, static_cast<std::int64_t>(of_step.size()));
    for (const shape::Range& range : of_step) {
      const std::vector<shape::Sequence> sequences = batches.sequences(range);
      std::vector<std::int64_t> lengths;
      for (const shape::Sequence& sequence : sequences) lengths.push_back(sequence.length);
      if (microbatches++ == 0) first_lengths = lengths;
      sizes.even = sizes.even && !last_is_other;
      last_is_other = lengths != first_lengths;
      for (int rank = 0; rank < cp; ++rank) {
        std::int64_t& most = sizes.most_rows[static_cast<std::size_t>(rank)];
        most = std::max(most, shape::count_rows(sequences, rank, cp));
      }
      const std::int64_t targets = batches.targets(range);
      sizes.most_with_loss = std::max(sizes.most_with_loss, targets);
      sizes.with_loss += static_cast<double>(targets);
      for (const shape::Sequence& sequence : sequences) {
        sizes.longest = std::max(sizes.longest, sequence.length);
        sizes.positions += static_cast<double>(sequence.length);
        sizes.squares += static_cast<double>(sequence.length) * static_cast<double>(sequence.length);
      }
    }
  }
  sizes.even_evaluated = sizes.even;
  sizes.microbatches = static_cast<double>(microbatches) / static_cast<double>(steps);
  sizes.positions /= static_cast<double>(microbatches);
  sizes.with_loss /= static_cast<double>(microbatches);
  sizes.squares /= static_cast<double>(microbatches);
  return sizes;
}

// Visits at most `most` of the numbers below `count`, evenly spaced.
template <class Visit>
static void evenly_spaced(std::int64_t count, std::int64_t most, Visit visit) {
  const std::int64_t visited = std::min(count, most);
  for (std::int64_t i = 0; i < visited; ++i) visit(i * count / visited);
}

records::SampleLengths lengths_of(const Samples& samples, const Sampler& sampler, const BatchRules& rules,
                                  const plan::PositionCosts& costs, std::int64_t most) {
  plan::LengthCount count(samples.samples(), samples.seq_len(), costs);
  evenly_spaced(samples.samples(), most, [&](std::int64_t sample) { count.add_sample(samples.lengths(sample)); });
  const Batches batches(samples, sampler, rules);
  const std::int64_t steps = std::max<std::int64_t>(samples.samples() / rules.global, 1);
  evenly_spaced(steps, std::max<std::int64_t>(most / rules.global, 1), [&](std::int64_t step) {
    for (const shape::Range& microbatch : batches.of_step(rules.start_step + step))
      count.add_microbatch(batches.sequences(microbatch), batches.targets(microbatch));
  });
  return count.result();
}

}  // namespace troika::data
