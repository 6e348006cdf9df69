#include "data/lengths.h"

#include <algorithm>

namespace troika::data {

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
      count.add_microbatch(batches.sequences(microbatch));
  });
  return count.result();
}

}  // namespace troika::data
