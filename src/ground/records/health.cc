#include "records/health.h"

#include <set>

#include "records/place.h"

namespace troika::records {

Chain chain_from(int rank, const Waiting& waiting) {
  Chain chain;
  std::set<int> passed = {rank};
  for (int at = rank;;) {
    const auto found = waiting.find(at);
    chain.known = found != waiting.end() && found->second != waits_for_others;
    if (!chain.known || found->second == waits_for_nobody) return chain;
    at = found->second;
    chain.ranks.push_back(at);
    if (passed.insert(at).second) continue;
    const auto first = std::find(chain.ranks.begin(), chain.ranks.end(), at);
    chain.circle.assign(first + 1 == chain.ranks.end() ? chain.ranks.begin() : first + 1, chain.ranks.end());
    return chain;
  }
}

static double seconds_of_unit(const Pace& pace) { return pace.seconds / pace.work; }

// The median of all but one, which is `without`.
static double median_of_others(const std::vector<double>& sorted, double without) {
  const auto own = static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), without) - sorted.begin());
  const std::size_t middle = (sorted.size() - 1) / 2;
  return sorted[middle < own ? middle : middle + 1];
}

std::map<int, Slowness> slowness_of(const std::map<int, Pace>& paces) {
  constexpr int all_kinds = -1;
  std::map<int, std::vector<double>> sorted;  // by kind of work
  for (const auto& [rank, pace] : paces)
    if (pace.seconds > 0 && pace.work > 0)
      for (const int kind : {pace.like, all_kinds}) sorted[kind].push_back(seconds_of_unit(pace));
  for (auto& [kind, seconds] : sorted) std::sort(seconds.begin(), seconds.end());
  std::map<int, Slowness> all;
  if (sorted[all_kinds].size() < 2) return all;
  for (const auto& [rank, pace] : paces) {
    if (!(pace.seconds > 0 && pace.work > 0)) continue;
    Slowness& slowness = all[rank];
    slowness.alike = sorted.at(pace.like).size() > 1;
    slowness.reference_seconds =
        median_of_others(sorted.at(slowness.alike ? pace.like : all_kinds), seconds_of_unit(pace)) * pace.work;
    slowness.ratio = pace.seconds / slowness.reference_seconds;
  }
  return all;
}

}  // namespace troika::records
