#include "diagnosis/learning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/say.h"
#include "base/units.h"
#include "diagnosis/samples.h"

namespace troika::diagnosis {
using metrics::StepMetrics;

std::vector<LossWindow> loss_windows(const Facts& facts) {
  const std::size_t length = std::clamp<std::size_t>(facts.rows.size() / 10, 5, 50);
  std::vector<LossWindow> windows;
  std::vector<double> losses;
  for (const StepMetrics& row : facts.rows) {
    if (!std::isfinite(row.loss)) continue;
    losses.push_back(row.loss);
    if (losses.size() < length) continue;
    windows.push_back({row.step, base::median_or(losses, 0)});
    losses.clear();
  }
  return windows;
}

std::optional<Finding> no_tokens_in_rows(const Facts& facts) {
  const auto& rows = facts.rows;
  const auto empty = std::count_if(rows.begin(), rows.end(), [](const StepMetrics& row) { return row.tokens == 0; });
  if (rows.size() < 3 || 2 * static_cast<std::size_t>(empty) <= rows.size()) return std::nullopt;
  return Finding{
      "no_training_tokens", {say("{0} of {1} steps had no token that carries loss", empty, rows.size())}, more_tokens_with_loss(facts)};
}

namespace {

// The last step before norms of the gradient stayed ten times above what was usual; -1: there was no such rise.
std::int64_t last_quiet_step(const Facts& facts) {
  const auto& rows = facts.rows;
  if (rows.size() < 6) return -1;
  std::vector<double> norms;
  for (const StepMetrics& row : rows)
    if (std::isfinite(row.grad_norm)) norms.push_back(row.grad_norm);
  if (norms.size() < 3) return -1;
  norms.resize(std::max<std::size_t>(norms.size() / 2, 3));
  const double usual = base::median_or(norms, 0);
  std::int64_t quiet = -1;
  for (const StepMetrics& row : rows)
    if (std::isfinite(row.grad_norm) && row.grad_norm < 10 * usual) quiet = row.step;
  return quiet == rows.back().step ? -1 : quiet;
}

}  // namespace

void add_rise(const Facts& facts, Finding* found) {
  std::vector<std::string> norms;
  const std::size_t from = facts.rows.size() > 4 ? facts.rows.size() - 4 : 0;
  for (std::size_t i = from; i < facts.rows.size(); ++i) norms.push_back(number(facts.rows[i].grad_norm));
  if (!norms.empty())
    found->evidence.push_back(say("gradient norms of the last steps, up to step {}: {}", facts.rows.back().step, fmt::format("{}", fmt::join(norms, ", "))));
  const std::int64_t quiet = last_quiet_step(facts);
  if (quiet < 0) return;
  found->evidence.push_back(say("after step {} the gradient norm is ten times its usual value and more", quiet));
  const auto after = std::upper_bound(facts.complete_saves.begin(), facts.complete_saves.end(), quiet);
  if (after == facts.complete_saves.begin()) return;
  const std::int64_t step = *std::prev(after);
  if (found->advice.size() > 2) found->advice.pop_back();
  found->advice.push_back(set("train.resume", fmt::format("{}/checkpoints/step-{:08}", facts.folder, step),
                              say("the checkpoint of step {} is from before the rise", step)));
}

}  // namespace troika::diagnosis
