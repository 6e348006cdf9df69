// What to start instead of a layout that does not fit.
#pragma once

#include <optional>

#include "planner/search.h"

namespace troika::planner {

// The layout that fits with the fewest changes to the one asked for, the fastest of those: another micro batch, or
// recomputation, or ZeRO, or dp x pp; then several of them. Nothing where none does. Precision, tp and cp stay.
std::optional<Estimate> nearest_that_fits(Question question, const Layout& asked);

// "--micro-batch-size 2 --recompute full": the flags by which they differ.
std::string flags_to(const Layout& other, const Layout& from);

}  // namespace troika::planner
