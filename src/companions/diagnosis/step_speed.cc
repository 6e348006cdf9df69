#include "diagnosis/step_speed.h"

#include <algorithm>
#include <numeric>

#include "base/units.h"
#include "diagnosis/samples.h"

namespace troika::diagnosis {
namespace {

std::vector<double> step_seconds(const Facts& f) {
  std::vector<double> seconds;
  for (const metrics::StepMetrics& row : f.rows)
    if (row.step > f.first_step + 1) seconds.push_back(row.step_seconds);  // the first one finds nothing warm
  return seconds;
}

}  // namespace

double slowdown(const Facts& facts, std::size_t least) {
  const std::vector<double> seconds = step_seconds(facts);
  if (seconds.size() < least) return 0;
  const auto quarter = static_cast<std::ptrdiff_t>(seconds.size() / 4);
  const double before = base::median_or({seconds.begin(), seconds.begin() + quarter}, 0),
               after = base::median_or({seconds.end() - quarter, seconds.end()}, 0);
  return before > 0 ? after / before : 0;
}

bool is_long_enough(const Facts& facts) {
  constexpr std::size_t least_steps = 20;
  constexpr double least_seconds = 10;
  const std::vector<double> seconds = step_seconds(facts);
  if (seconds.size() + 1 < least_steps || std::accumulate(seconds.begin(), seconds.end(), 0.0) < least_seconds)
    return false;
  return !facts.of_ranks.empty() && std::all_of(facts.of_ranks.begin(), facts.of_ranks.end(), [](const auto& rank) {
    return rank.second.samples > 2 && rank.second.seconds > 0;
  });
}

double share(double seconds, const RankFacts& rank) { return rank.seconds > 0 ? seconds / rank.seconds : 0; }

}  // namespace troika::diagnosis
