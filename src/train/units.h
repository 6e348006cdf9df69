// A rank's segments with their buffers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "executor/replica_traffic.h"
#include "train/plan.h"

namespace troika::train {

// Takes of `segments` (all of the model, in order) those that the program puts on the rank at `at`. Values
// uninitialised; those of an evaluation's plan are frozen (see frozen.h).
executor::Units make_units(const Plan& plan, const mesh::Coordinate& at,
                           std::vector<std::unique_ptr<model::Segment>> segments, const c10::Device& device,
                           tensor::Ledger& ledger);

// Sets what each optimizer holds, and no frozen values, from (seed, name, element). Executor::publish_parameters makes
// it everybody's.
void initialise_trained(const executor::Units& units, std::uint64_t seed, double init_std);

// After the optimizers' tensors were read from outside, or written.
enum class Access { read, written };
void settle_units(const executor::Units& units, Access access);

}  // namespace troika::train
