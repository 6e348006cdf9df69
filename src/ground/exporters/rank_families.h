// The metrics that each rank and each host of a run has of its own.
#pragma once

#include "exporters/exposition.h"
#include "records/run_reader.h"

namespace troika::exporters {

// `now` in seconds since 1970.
void add_rank_families(Exposition& to, const records::RunReader& run, double now);

}  // namespace troika::exporters
