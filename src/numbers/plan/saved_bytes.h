// What a rank writes into a checkpoint.
#pragma once

#include <cstdint>

#include "plan/plan.h"

namespace troika::plan {

// In files, fp32. trained: parameters with their optimizer state, which change while the file is written unless they are copied
// before.
struct SavedBytes {
  std::int64_t trained = 0, frozen = 0;
  std::int64_t total() const { return trained + frozen; }
};

// What the rank at a coordinate writes: what replica 0 holds as well is that one's to write.
SavedBytes written_bytes(const Plan& plan, const mesh::Coordinate& at);
// What it holds as well as replica 0, which writes it, and could write again.
SavedBytes twin_bytes(const Plan& plan, const mesh::Coordinate& at);

// Counts memory for copies of what is trained, of every grid rank's rank that copies most: `bytes` per world rank.
void count_snapshots(Plan* plan, const std::vector<std::int64_t>& bytes);
// Where every rank copies what it writes.
void count_snapshots(Plan* plan);

}  // namespace troika::plan
