// The squares that the gradient norm is made of, as far as one group of replicas knows them.
#pragma once

#include <map>
#include <string>

#include "comm/channel.h"
#include "executor/segment_unit.h"
#include "tensor/tensor.h"

namespace troika::executor {

// Chunk squares of the gradients that this rank holds the sum of, one buffer after the other; fp64, on the device.
tensor::Tensor own_squares(const Units& units);

// Sums of squares of the gradients of the trained parameters whose first holder is `tp_rank`, by name: on replica 0 of
// all elements this tp rank holds, on the others empty. `own`: own_squares, on the host. Collective over the replicas,
// after the reductions; chunks of a parameter are added in one order, so the sums do not depend on who holds them.
// `on_wait` hears of waiting for replicas. Errors of the channel pass through.
std::map<std::string, double> gradient_squares(const Units& units, const tensor::Tensor& own, comm::Channel& replicas,
                                               int tp_rank, const Bucket::OnWait& on_wait);

}  // namespace troika::executor
