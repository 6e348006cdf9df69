// A rank's segments with their buffers: made from the plan, then filled with drawn values or from a source of weights.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "executor/executor.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

namespace troika::weights {

// Takes of `segments` (all of the model, in order) those that the program puts on the rank at `at`. Values
// uninitialised; those of an evaluation's plan are frozen. `streams`: of the rank's device; outlive the units.
executor::Units make_units(const plan::Plan& plan, const mesh::Coordinate& at,
                           std::vector<std::unique_ptr<model::Segment>> segments, tensor::Streams& streams,
                           tensor::Ledger& ledger);

// Set what this rank answers for, of what is trained or what is frozen, from (seed, name, element). Not collective;
// Executor::publish_parameters makes it everybody's.
void initialise_trained(const executor::Units& units, std::uint64_t seed, double init_std);
void initialise_frozen(const executor::Units& units, std::uint64_t seed, double init_std);

// Fills slices of fp32 memory or of halves: collective, the same number of calls on every rank, some with nothing to fill.
using FillWeights = std::function<void(const std::vector<checkpoint::Slice>& wanted)>;

// Collective: sets the frozen values that this rank answers for. Executor::publish_parameters makes them everybody's.
void load_frozen(const executor::Units& units, const FillWeights& fill);

// After the optimizers' tensors were read from outside, or written: state that is offloaded leaves the memory again.
enum class Access { read, written };
void finish_access(const executor::Units& units, Access access);

// The tensors in a rank's buckets as slices that checkpoints save and load. Weights are the fp32 master copies, whatever is
// computed with.
struct Slices {
  std::vector<checkpoint::Slice> weights, state;
};

// held: what this rank has a copy of. written: of that what this rank saves, so that all ranks together save every element
// once: not the copy of a tied table, what another tp rank holds first, or what replica 0 holds as well. again: what replica
// 0 writes that this rank, another replica, holds as well.
enum class Selection { written, held, again };

// The slices of trained parameters. Call finish_access when done with the slices' data.
Slices slices_of(const executor::Units& units, Selection selection, const executor::Place& place);

// The frozen tensors, in the dtype that is computed with, to be saved.
std::vector<checkpoint::Slice> frozen_slices_of(const executor::Units& units, Selection selection,
                                                const executor::Place& place);

}  // namespace troika::weights
