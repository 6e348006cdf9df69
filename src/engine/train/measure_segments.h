// How long each segment of the model takes on this machine, for cutting it into stages.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "tensor/tensor.h"

namespace troika::train {

// Seconds of forward and backward of one sequence, by segment: the median of three of the embedding, one block and the
// head; all blocks are alike. Without the groups inside segments. A second or so for small models.
std::vector<double> measure_segments(const config::Resolved& resolved, const plan::DataFacts& data,
                                     const tensor::Device& device);

}  // namespace troika::train
