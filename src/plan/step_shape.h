// From stages to what the builder of step programs reads.
#pragma once

#include "plan/stages.h"
#include "schedule/build/builder.h"

namespace troika::plan {

// Bytes are those of the rank that sends most.
schedule::StepShape step_shape(const Job& job, const Stages& stages);

}  // namespace troika::plan
