#include "plan/batch_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "config/micro_batch.h"

namespace troika::plan {
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

std::int64_t bytes_needed(const config::Resolved& resolved, const DataFacts& data, int world_rank, Room::Where where) {
  try {
    const Plan plan = make_plan(resolved, data);
    return memory_in(plan, mesh::grid_rank_of(plan.shape, world_rank), where).with_saving();
  } catch (const base::ConfigError&) {  // more microbatches than a step may have, say
    return -1;
  }
}

}  // namespace

RankNeeds needs_of_rank(const config::Resolved& resolved, const DataFacts& data, int world_rank, const Room& room) {
  RankNeeds needs{room.available_bytes / room.ranks, {}};
  for (const config::Batch& batch : resolved.batch_candidates)
    needs.needs.push_back(bytes_needed(config::with_batch(resolved, batch), data, world_rank, room.where));
  return needs;
}

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

}  // namespace troika::plan
