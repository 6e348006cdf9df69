// The settings left open for the machines that have come: the layout, the microbatch, the costs of segments.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "planner/search.h"
#include "tensor/tensor.h"
#include "train/machine_here.h"
#include "train/rank_context.h"
#include "train/session.h"

namespace troika::train {

// parallel.layout auto. Collective, before there are groups: measures the link, and what was never measured of a host; rank 0 chooses and says why,
// and all train in what it chose. `open_layout`: what is stated of the layout. ConfigError when the machines are not known, or
// no layout fits.
config::Resolved with_chosen_layout(Session& session, const RankContext& context, const planner::Fixed& open_layout,
                                    const MachineHere& here, const plan::DataFacts& facts);

// batch.find_micro_batch_size. Collective, before there are groups, when settings and data are agreed: of the candidates of `resolved` the largest
// that fits the share of free memory of every rank, of its GPU where it has one, the smallest when none does; rank 0 says what
// fits and what does not. On GPUs one microbatch of that size is computed (warm_up.h), and where memory is short there, of the next
// smaller one; rank 0 says so. `resolved` itself without the setting. ConfigError where free memory is not known.
config::Resolved with_fitting_batch(Session& session, const RankContext& context, config::Resolved resolved,
                                    const plan::DataFacts& data, const Machine& machine);

// parallel.stage_balance measured. Seconds of forward and backward of one sequence, by segment: the median of three of the embedding, one block and the
// head; all blocks are alike. Without the groups inside segments. A second or so for small models.
std::vector<double> measure_segments(const config::Resolved& resolved, const plan::DataFacts& data,
                                     const tensor::Device& device);

}  // namespace troika::train
