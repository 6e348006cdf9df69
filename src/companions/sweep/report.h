// A sweep in words: the table at its end, and what was best.
#pragma once

#include <string>
#include <vector>

#include "sweep/measured.h"
#include "sweep/row.h"

namespace troika::sweep {

// A line for each row, the best first, measured beside predicted; of a long list its beginning.
std::string sweep_table(const SweepRows& rows, base::Language language);

// What would be run, in this order.
std::string dry_run_table(const std::vector<planner::Estimate>& estimates, const SweepStep& step, base::Language language);

// "840 layouts of 12 samples a step, 5 steps each: about 43 min 10 s", as predicted and with 3 s for a start.
base::Text sweep_size(const std::vector<planner::Estimate>& estimates, const SweepStep& step);

// "The best is dp 2, zero 1: 5769 positions/s, a step in 0.213 s; the plan said 0.200 s. The plan's first choice was pp 2: 5600
// positions/s, 2.9 % less than the best." `first`: what the plan names first.
base::Text sweep_conclusion(const SweepRows& rows, const planner::Layout& first);

}  // namespace troika::sweep
