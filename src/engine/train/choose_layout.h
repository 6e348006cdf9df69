// The layout of a run that leaves it open (parallel.layout auto), from the machines that have come.
#pragma once

#include "planner/search.h"
#include "train/machine_here.h"
#include "train/rank_context.h"

namespace troika::train {

// Collective, before there are groups: measures the link, and what was never measured of a host; rank 0 chooses and says why,
// and all train in what it chose. `open_layout`: what is stated of the layout. ConfigError when the machines are not known, or
// no layout fits.
config::Resolved with_chosen_layout(Session& session, const RankContext& context, const planner::Fixed& open_layout,
                                    const MachineHere& here, const plan::DataFacts& facts);

}  // namespace troika::train
