// What a link carries, from the transfers of recorded steps.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "plan/plan.h"
#include "schedule/simulate/link.h"
#include "schedule/trace/trace.h"

namespace troika::planner {

struct LinkFit {
  schedule::Link link;
  std::size_t transfers = 0;  // that it was fitted to
};

// Whether a message or exchange of these grid ranks counts.
using Crosses = std::function<bool(const std::vector<int>& ranks)>;

// As the simulator has links (simulator.h): a transfer begins when all its ranks have come and the ways out of those that
// send are free, and takes the latency and its bytes at the rate. Only transfers that somebody waited for to their end say
// when that was. The rate is the median of theirs. Where the latency is not known, both are fitted: the rate is the median of all
// pairs of transfers of unlike sizes (Theil and Sen), the latency that of what remains. None of fewer than three transfers.
std::optional<LinkFit> fit_link(const plan::Plan& plan, const std::vector<schedule::StepTrace>& steps,
                                const Crosses& crosses, std::optional<double> latency_seconds);

}  // namespace troika::planner
