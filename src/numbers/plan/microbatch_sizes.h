// The sizes of a run's microbatches, before it starts, and who computes which of them in a step.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "config/resolve.h"
#include "config/settings/settings.h"
#include "schedule/instruction/program.h"
#include "shape/sequences.h"

namespace troika::plan {

// Every sample is one sequence of seq_len positions.
shape::MicrobatchSizes full_sizes(const config::Batch& batch, int cp);

// The sizes that data have: a pure function, equal on all ranks. `steps`: of the run; 0: each sample once, in order.
using SizesOf = std::function<shape::MicrobatchSizes(const config::Batch& batch, int cp, std::int64_t steps)>;

// Multiply-adds of a forward: of a position, and of a pair of positions of one sequence, half of which see each other; of the blocks
// with a window on their own.
struct PositionCosts {
  double position = 1, pair = 0;
  double pair_in_window = 0, window = 0;
  double attention(double positions, double squares) const;  // as of shape::seen_pairs
  double of(double positions, double squares) const { return position * positions + attention(positions, squares); }
  double of(const std::vector<shape::Sequence>& microbatch) const;
};
PositionCosts position_costs(const config::ModelSettings& model);

// The microbatch of a step that each of the program's microbatches computes; no_microbatch where a rank has fewer than its program
// has room for. `costs`: of the step's microbatches, at most as many as the program has. Ranks whose shares are larger are faster in
// that proportion. Loads are even as far as whole microbatches allow: the longest first to the rank that would end first, then
// exchanges between the last to end and others until it ends within 0.1 % of the mean. A rank's absent microbatches are its first
// ones. Microbatches of equal costs that fill the program keep their order. A pure function; O(n (log n + dp)) for n microbatches,
// and up to 64 exchanges, each looked for among the microbatches of the last and of all others. BugError when
// the program has no room for them.
inline constexpr int no_microbatch = -1;
std::vector<int> distribute(const schedule::ProgramShape& program, const std::vector<double>& costs);

}  // namespace troika::plan
