// How long each segment of the model takes on this machine, for cutting it into stages.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "plan/plan.h"

namespace troika::train {

// Seconds of forward and backward of one sequence, by segment: the median of three of the embedding, one block and the
// head; all blocks are alike. Without the groups inside segments. A second or so for small models.
std::vector<double> measure_segments(const config::Resolved& resolved, const plan::DataFacts& data,
                                     const c10::Device& device);

}  // namespace troika::train
