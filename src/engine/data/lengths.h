// The lengths of a run's samples, counted from its data.
#pragma once

#include <cstdint>

#include "data/batches.h"
#include "plan/lengths.h"
#include "records/sample_lengths.h"

namespace troika::data {

// So many samples are counted at most, and microbatches of so many: evenly spaced ones of one epoch.
inline constexpr std::int64_t most_counted = std::int64_t{1} << 20;

// Reads lengths alone, no tokens. At least one whole step is counted.
records::SampleLengths lengths_of(const Samples& samples, const Sampler& sampler, const BatchRules& rules,
                                  const plan::PositionCosts& costs, std::int64_t most = most_counted);

}  // namespace troika::data
