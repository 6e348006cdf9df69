// The layout of a run that leaves it open (parallel.layout auto), from the machines that have come.
#pragma once

#include "train/machine_here.h"
#include "train/run.h"

namespace troika::train {

// Collective, before there are groups: measures the link, and what was never measured of a host; rank 0 chooses and says why,
// and all train in what it chose. request.resolved where the request leaves nothing open. ConfigError when the machines are not
// known, or no layout fits.
config::Resolved with_chosen_layout(Session& session, const RunRequest& request, const MachineHere& here,
                                    const plan::DataFacts& facts);

}  // namespace troika::train
