// Converts stages to the input of the builder of step programs.
#pragma once

#include "plan/stages.h"
#include "schedule/build/builder.h"

namespace troika::plan {

// Bytes are those of the rank that sends most.
schedule::StepShape step_shape(const Job& job, const Stages& stages);

// The shape of the first data-parallel rank's pipeline alone, with its share of the microbatches and all replicas to
// exchange with, whose shares are equal. Bytes are those of its first rank: in a large world the same to some chunks,
// at a fraction of the work.
schedule::StepShape pipeline_shape(const Job& job, const Stages& stages);

}  // namespace troika::plan
