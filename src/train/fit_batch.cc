#include "train/fit_batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "config/micro_batch.h"
#include "metrics/memory.h"

namespace troika::train {
namespace {

bool fits(const std::vector<RankNeeds>& ranks, std::size_t candidate) {
  return std::all_of(ranks.begin(), ranks.end(), [&](const RankNeeds& rank) {
    const std::int64_t need = rank.needs[candidate];
    return need >= 0 && need <= rank.share;
  });
}

const RankNeeds& tightest(const std::vector<RankNeeds>& ranks, std::size_t candidate) {
  return *std::max_element(ranks.begin(), ranks.end(), [&](const RankNeeds& a, const RankNeeds& b) {
    return a.needs[candidate] - a.share < b.needs[candidate] - b.share;
  });
}

std::string described(const config::Batch& batch, const std::vector<RankNeeds>& ranks, std::size_t candidate,
                      std::string_view verb) {
  const RankNeeds& rank = tightest(ranks, candidate);
  const std::int64_t need = rank.needs[candidate];
  if (need < 0) return fmt::format("{} {} (no plan can be made)", batch.micro, verb);
  return fmt::format("{} {} ({} of {})", batch.micro, verb, base::format_bytes(need), base::format_bytes(rank.share));
}

std::int64_t need_of(const config::Resolved& resolved, const DataFacts& data, int rank) {
  try {
    const Plan plan = make_plan(resolved, data);
    return plan.memory[static_cast<std::size_t>(mesh::lane_of(plan.shape, rank))].total();
  } catch (const base::ConfigError&) {  // more microbatches than a step may have, say
    return -1;
  }
}

}  // namespace

std::string to_text(const RankNeeds& needs) { return fmt::format("{} {}", needs.share, fmt::join(needs.needs, " ")); }

RankNeeds parse_rank_needs(const std::string& text) {
  RankNeeds needs;
  for (const std::string& word : base::split(text, ' ')) {
    std::int64_t bytes = 0;
    if (!base::parse_int(word, &bytes)) throw base::BugError("needs of a rank '" + text + "' are no numbers");
    needs.needs.push_back(bytes);
  }
  if (needs.needs.empty()) throw base::BugError("a rank told nothing of its memory");
  needs.share = needs.needs.front();
  needs.needs.erase(needs.needs.begin());
  return needs;
}

int largest_fitting(const std::vector<RankNeeds>& ranks) {
  for (std::size_t candidate = ranks.front().needs.size(); candidate-- > 0;) {
    if (fits(ranks, candidate)) return static_cast<int>(candidate);
  }
  return -1;
}

std::string describe_fit(const std::vector<config::Batch>& candidates, const std::vector<RankNeeds>& ranks) {
  const int chosen = largest_fitting(ranks);
  const auto next = static_cast<std::size_t>(chosen + 1);
  if (chosen < 0) return "micro batch " + described(candidates.front(), ranks, 0, "does not fit");
  std::string text = "micro batch " + described(candidates[next - 1], ranks, next - 1, "fits");
  if (next < candidates.size()) return text + ", " + described(candidates[next], ranks, next, "does not");
  return text + ", the largest there is to choose";
}

config::Resolved with_fitting_batch(Session& session, const Start& start, config::Resolved resolved,
                                    const DataFacts& data, const Machine& machine) {
  const auto& candidates = resolved.batch_candidates;
  if (candidates.empty()) return resolved;
  const std::int64_t available = metrics::available_bytes();
  if (!machine.device.is_cpu() || available < 0) {
    throw base::ConfigError(
        "batch.find_micro_batch_size needs the free memory, which is known of this host's processors only: leave it "
        "out and set --micro-batch-size");
  }
  session.at(0, "finding the microbatch that fits");
  RankNeeds mine{available / start.identity.local_size, {}};
  for (const config::Batch& batch : candidates)
    mine.needs.push_back(need_of(config::with_batch(resolved, batch), data, start.identity.world_rank));
  std::vector<RankNeeds> ranks;
  for (const std::string& text : session.told_by_all("memory of batches", to_text(mine)))
    ranks.push_back(parse_rank_needs(text));
  say(start, "batch   " + describe_fit(candidates, ranks));
  return config::with_batch(resolved, candidates[static_cast<std::size_t>(std::max(0, largest_fitting(ranks)))]);
}

}  // namespace troika::train
