// batch.find_micro_batch_size: the largest microbatch that fits.
#pragma once

#include "train/plan.h"
#include "train/session.h"
#include "train/start.h"

namespace troika::train {

// Collective, before there are groups, when settings and data are agreed: of the candidates of `resolved` the largest
// that fits the share of free memory of every rank, the smallest when none does; rank 0 says what fits and what does
// not. `resolved` itself without the setting. ConfigError on a device whose free memory is not known here.
config::Resolved with_fitting_batch(Session& session, const Start& start, config::Resolved resolved,
                                    const DataFacts& data, const Machine& machine);

// What one rank needs with each candidate, and what there is for it. Bytes; a need of -1: no plan can be made.
struct RankNeeds {
  std::int64_t share = 0;
  std::vector<std::int64_t> needs;
};
std::string to_text(const RankNeeds& needs);
RankNeeds parse_rank_needs(const std::string& text);

// The index of the largest candidate that fits on all ranks, -1 when none does.
int largest_fitting(const std::vector<RankNeeds>& ranks);

// "micro batch 12 fits (11.2 GiB of 14.0 GiB), 16 does not (15.1 GiB of 14.0 GiB)", each of the rank with the least
// room.
std::string describe_fit(const std::vector<config::Batch>& candidates, const std::vector<RankNeeds>& ranks);

}  // namespace troika::train
