// The tensors in a rank's buckets as slices that checkpoints save and load. Weights are the fp32 master copies, whatever is
// computed with.
#pragma once

#include <vector>

#include "checkpoint/checkpoint.h"
#include "executor/executor.h"
#include "tensor/tensor.h"

namespace troika::weights {

struct Slices {
  std::vector<checkpoint::Slice> weights, state;
};

// held: what this rank has a copy of. written: of that what this rank saves, so that all ranks together save every element
// once: not the copy of a tied table, what another tp rank holds first, or what replica 0 holds as well. again: what replica
// 0 writes that this rank, another replica, holds as well.
enum class Selection { written, held, again };

// The parameters of `flat`, fp32, which holds the bucket's range held().
std::vector<checkpoint::Slice> weights_in(const executor::Bucket& bucket, const tensor::Tensor& flat);

// The slices of trained parameters. Call `finish_access` (rank_units.h) when done with the slices' data.
Slices slices_of(const executor::Units& units, Selection selection, const executor::Place& place);

// What is frozen, in the dtype that is computed with, to be saved.
std::vector<checkpoint::Slice> frozen_slices_of(const executor::Units& units, Selection selection,
                                                const executor::Place& place);

}  // namespace troika::weights
