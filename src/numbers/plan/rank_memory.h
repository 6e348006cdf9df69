// The bytes that a rank holds at most, by following its programs with numbers alone.
#pragma once

#include <vector>

#include "plan/memory.h"
#include "plan/programs.h"

namespace troika::plan {

// For each grid rank of the programs, which have been checked, of its rank that needs most. What the ranks' ledgers will
// count, to the byte.
std::vector<Memory> memory_of_grid_ranks(const Job& job, const Stages& stages, const Programs& programs);

// What an operation of the segment, trained, takes at most on the rank's GPU beside what the ledger has.
std::int64_t gpu_operation_bytes(const Job& job, const mesh::Coordinate& at, int segment);

// The memory of the rank at a coordinate. `programs` may be those of the first data-parallel rank's pipeline alone
// (pipeline_shape).
Memory memory_at(const Job& job, const Stages& stages, const Programs& programs, const mesh::Coordinate& at);

}  // namespace troika::plan
