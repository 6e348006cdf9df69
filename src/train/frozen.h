// Parameters that are computed with and never updated.
#pragma once

#include <functional>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "executor/replica_traffic.h"
#include "train/plan.h"

namespace troika::train {

// Fills slices of fp32 memory: collective, the same number of calls on every rank, some with nothing to fill.
using FillWeights = std::function<void(const std::vector<checkpoint::Slice>& wanted)>;

// Collective: sets the frozen values that this rank answers for, of the units that `plan` puts here. Half precision is filled one
// buffer after the other by way of fp32 memory, so that never more than one buffer is there twice.
// Executor::publish_parameters makes them everybody's.
void load_frozen(const Plan& plan, const executor::Units& units, const FillWeights& fill, tensor::Ledger& ledger);

// The same from (seed, name, element), not collective.
void initialise_frozen(const executor::Units& units, std::uint64_t seed, double init_std, tensor::Ledger& ledger);

}  // namespace troika::train
