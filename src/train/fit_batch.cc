#include "train/fit_batch.h"

#include <algorithm>

#include "base/error.h"
#include "config/micro_batch.h"
#include "plan/batch_fit.h"

namespace troika::train {

config::Resolved with_fitting_batch(Session& session, const RankContext& context, config::Resolved resolved,
                                    const plan::DataFacts& data, const Machine& machine) {
  const auto& candidates = resolved.batch_candidates;
  if (candidates.empty()) return resolved;
  const std::optional<plan::Room> room = room_of_rank(context, machine);
  if (!room) {
    throw base::ConfigError(
        "batch.find_micro_batch_size needs the free memory, which this host does not tell: leave it out and set "
        "--micro-batch-size");
  }
  session.at(0, "finding the microbatch that fits");
  const plan::RankNeeds mine = plan::needs_of_rank(resolved, data, context.identity.world_rank, *room);
  std::vector<plan::RankNeeds> ranks;
  for (const std::string& text : session.all_gather_text("memory of batches", plan::to_text(mine)))
    ranks.push_back(plan::parse_rank_needs(text));
  say(context, "batch   " + plan::describe_fit(candidates, ranks));
  return config::with_batch(resolved, candidates[static_cast<std::size_t>(std::max(0, plan::largest_fitting(ranks)))]);
}

}  // namespace troika::train
