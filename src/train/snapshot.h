// Between a rank's buffers and checkpoints. Weights are the fp32 master copies, whatever is computed with.
#pragma once

#include <vector>

#include "checkpoint/checkpoint.h"
#include "executor/executor.h"

namespace troika::train {

struct Slices {
  std::vector<checkpoint::Slice> weights, state;
};

// all: what this rank answers for. owned: of that what this rank writes, so that all ranks together write every
// element once: not the copy of a tied table, what another tp rank holds first, or what replica 0 holds as well.
enum class Wanted { owned, all };

// The parameters of `flat`, fp32, which holds the bucket's range held().
std::vector<checkpoint::Slice> weights_in(const executor::Bucket& bucket, const at::Tensor& flat);

// Of what is trained. `settle_units` (units.h) when done with the slices' data.
Slices slices_of(const executor::Units& units, Wanted wanted, const executor::Place& place);

// What is frozen, in the dtype that is computed with, to be saved.
std::vector<checkpoint::Slice> frozen_slices_of(const executor::Units& units, const executor::Place& place);

}  // namespace troika::train
