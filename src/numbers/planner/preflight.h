// What a launcher can say of a training run before it starts a rank and before any data is prepared.
#pragma once

#include <cstdint>
#include <optional>

#include "config/resolve.h"
#include "planner/search.h"

namespace troika::planner {

// The ranks that a launcher starts on its host: [first_rank, first_rank + count) of the world.
struct HostRanks {
  int first_rank = 0, count = 1;
  std::int64_t available_bytes = 0;  // free memory of the host
  int hosts = 1;                     // of the run, each with so many ranks
};

// Makes the plan with what is known without the data and compares the memory of these ranks with their shares. ConfigError
// with the nearest layout that fits, on hosts like this one, or in the words of the ranks where none does; they would find the
// same later. DataError for a schedule file that is wrong. Nothing where the memory cannot be known yet: no
// `vocabulary`, which only the data tell, stages that are cut by measured seconds. For ranks that compute on the processor.
void check_before_start(const config::Resolved& resolved, const HostRanks& ranks, std::optional<std::int64_t> vocabulary);

// The same of a run whose layout is to be chosen: whether any fits. `open`: resolve_open's.
void check_before_choice(const config::Resolved& open, const Fixed& fixed, const HostRanks& ranks,
                         std::optional<std::int64_t> vocabulary);

// The layout that fits with the fewest changes to the one asked for, the fastest of those: another micro batch, or
// recomputation, or ZeRO, or dp x pp; then several of them. Nothing where none does. Precision, tp and cp stay.
std::optional<Estimate> nearest_that_fits(Question question, const Layout& asked);

// "--micro-batch-size 2 --recompute full": the flags by which they differ.
std::string flags_to(const Layout& other, const Layout& from);

}  // namespace troika::planner
