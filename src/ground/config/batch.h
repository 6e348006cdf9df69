// The batch arithmetic of resolve.h: from the given settings (batch_quantities.h) to the three quantities of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/resolve.h"
#include "config/settings.h"

namespace troika::config {

// What a check found, one sentence each.
struct Findings {
  std::vector<base::Text> errors;
  std::vector<base::Text> notes;
};

// Solves the three quantities for `dp` ranks. On an error (in `findings`) the result is not meaningful.
// All numbers of `settings` and dp are at least 1.
Batch solve_batch(const BatchSettings& settings, std::int64_t dp, Findings* findings);

// The same where the shares of the data-parallel ranks say how many microbatches a step has (parallel.shares).
Batch solve_batch_of_shares(const BatchSettings& settings, const std::vector<std::int64_t>& shares, Findings* findings);

// "48 and 64 are the nearest that are", the multiples of `unit` around `value` ("8 is the nearest that is").
base::Text nearest_multiples(std::int64_t value, std::int64_t unit);

}  // namespace troika::config
