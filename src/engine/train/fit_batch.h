// batch.find_micro_batch_size: the largest microbatch that fits.
#pragma once

#include "plan/plan.h"
#include "train/rank_context.h"
#include "train/session.h"

namespace troika::train {

// Collective, before there are groups, when settings and data are agreed: of the candidates of `resolved` the largest
// that fits the share of free memory of every rank, of its GPU where it has one, the smallest when none does; rank 0 says what
// fits and what does not. On GPUs one microbatch of that size is computed (warm_up.h), and where memory is short there, of the next
// smaller one; rank 0 says so. `resolved` itself without the setting. ConfigError where free memory is not known.
config::Resolved with_fitting_batch(Session& session, const RankContext& context, config::Resolved resolved,
                                    const plan::DataFacts& data, const Machine& machine);

}  // namespace troika::train
