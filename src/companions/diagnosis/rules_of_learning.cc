// Runs that train, and do not learn: by the shape of their metrics.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/say.h"
#include "base/units.h"
#include "diagnosis/facts.h"
#include "diagnosis/rules.h"

namespace troika::diagnosis {

using metrics::StepMetrics;

namespace {

double extra(const StepMetrics& row, const char* name) {
  const auto found = row.extra.find(name);
  return found == row.extra.end() ? 0 : found->second;
}

bool is_fp16(const Facts& f) { return f.settings && f.settings->precision.compute == config::Precision::fp16; }

// The last rows were all skipped, and the loss scale found no level.
std::optional<Finding> skips_every_step(const Facts& f) {
  constexpr std::size_t least = 20;
  if (f.rows.size() <= least || f.rows.back().extra.count("loss_scale") == 0) return std::nullopt;
  const StepMetrics& before = f.rows[f.rows.size() - least - 1];
  const double skipped = extra(f.rows.back(), "skipped_steps") - extra(before, "skipped_steps");
  if (skipped < static_cast<double>(least)) return std::nullopt;
  return Finding{"fp16_overflow",
                 {say("the last {0} steps, up to step {1}, were all skipped, with a loss scale of {2}", least, f.rows.back().step, number(extra(f.rows.back(), "loss_scale")))},
                 {set("precision.compute", "bf16", say("bf16 has the range of fp32, and needs no loss scale")), lower_rate(f), longer_warmup(f)}};
}

std::optional<Finding> losses_without_number(const Facts& f) {
  constexpr std::size_t looked_at = 10, most = 5;
  if (f.rows.size() < looked_at || is_fp16(f)) return std::nullopt;
  std::size_t nonfinite = 0;
  for (std::size_t i = f.rows.size() - looked_at; i < f.rows.size(); ++i)
    nonfinite += std::isfinite(f.rows[i].loss) && std::isfinite(f.rows[i].grad_norm) ? 0 : 1;
  if (nonfinite < most) return std::nullopt;
  Finding found{"diverged", {say("in {0} of the last {1} steps the loss or the gradient norm is not finite", nonfinite, looked_at)}, gentler_steps(f)};
  add_rise(f, &found);
  return found;
}

// More than half of what was learnt is lost again.
std::optional<Finding> rising_loss(const Facts& f) {
  const std::vector<LossWindow> windows = loss_windows(f);
  if (f.rows.size() < 30 || windows.size() < 4) return std::nullopt;
  const auto lowest = std::min_element(windows.begin(), windows.end(),
                                       [](const LossWindow& a, const LossWindow& b) { return a.loss < b.loss; });
  const double first = windows.front().loss, last = windows.back().loss;
  if (last < 1.5 * lowest->loss || last < lowest->loss + 0.6 * (first - lowest->loss)) return std::nullopt;
  Finding found{
      "diverged",
      {say("the loss began at {0}, reached its minimum of {1} at step {2}, and is {3} at step {4}", number(first), number(lowest->loss), lowest->last_step, number(last), f.rows.back().step)},
      gentler_steps(f)};
  add_rise(f, &found);
  return found;
}

double chance_loss(const Facts& f) {
  const std::int64_t vocabulary = f.settings ? f.settings->model.vocab : 0;
  return vocabulary > 1 ? std::log(static_cast<double>(vocabulary)) : 0;
}

AdviceList advice_of_no_signal(const Facts& f) {
  const config::Settings s = settings_or_usual(f);
  const config::OptimizerSettings usual;
  AdviceList advice;
  const double lr = s.optimizer.lr < usual.lr / 10 ? usual.lr : s.optimizer.lr / 3;
  advice.push_back(set("optimizer.lr", number(lr), say("a learning rate of {} does not move the loss", number(s.optimizer.lr))));
  const auto rows = static_cast<std::int64_t>(f.rows.size());
  if (s.optimizer.warmup_steps > rows / 2)
    advice.push_back(set("optimizer.warmup_steps", std::to_string(std::max<std::int64_t>(rows / 20, 1)),
                         say("the warm-up of {} is longer than the training so far", base::counted_text(s.optimizer.warmup_steps, "step"))));
  advice.push_back(set("data.max_samples", "10", say("the model should memorize ten samples within a few hundred steps; if not, the data or the targets are wrong")));
  advice.push_back(command("troika data inspect", say("it shows samples as the run sees them, with the tokens that carry loss")));
  advice.resize(std::min<std::size_t>(advice.size(), 3));
  return advice;
}

std::optional<Finding> no_rate(const Facts& f) {
  const bool none = std::all_of(f.rows.begin(), f.rows.end(), [](const StepMetrics& row) { return row.lr == 0; });
  if (f.rows.size() < 20 || !none) return std::nullopt;
  return Finding{"no_learning_signal", {say("the learning rate is 0 in all {} steps", f.rows.size())}, advice_of_no_signal(f)};
}

std::optional<Finding> flat_loss(const Facts& f) {
  constexpr std::size_t least = 200, looked_at = 20;
  if (f.rows.size() < least) return std::nullopt;
  std::vector<double> begin, end;
  double highest_rate = 0;
  for (std::size_t i = 0; i < looked_at; ++i) {
    begin.push_back(f.rows[i].loss);
    end.push_back(f.rows[f.rows.size() - 1 - i].loss);
  }
  for (const StepMetrics& row : f.rows) highest_rate = std::max(highest_rate, row.lr);
  const double first = base::median_or(begin, 0), last = base::median_or(end, 0), chance = chance_loss(f);
  if (!(first > 0) || !(last > 0.99 * first)) return std::nullopt;
  const bool near_chance = chance > 0 && last > 0.85 * chance;
  if (!near_chance && highest_rate > 1e-7) return std::nullopt;
  Finding found{"no_learning_signal", {say("the loss was {0} in the first 20 steps and is {1} in the last 20 of {2}", number(first), number(last), f.rows.size())}, {}};
  if (near_chance) found.evidence.push_back(say("random guessing would give {}, the logarithm of the vocabulary size {}", number(chance), f.settings->model.vocab));
  found.evidence.push_back(say("the highest learning rate was {}", number(highest_rate)));
  found.advice = advice_of_no_signal(f);
  return found;
}

// The finite losses of the steps after `from_step` up to `to_step`.
std::vector<double> losses(const Facts& f, std::int64_t from_step, std::int64_t to_step) {
  std::vector<double> found;
  for (const StepMetrics& row : f.rows)
    if (row.step > from_step && row.step <= to_step && std::isfinite(row.loss)) found.push_back(row.loss);
  return found;
}

double spread_of(const std::vector<double>& values) {
  constexpr double deviations = 1.4826;  // of a normal distribution, per median deviation
  const double middle = base::median_or(values, 0);
  std::vector<double> apart;
  for (const double value : values) apart.push_back(std::abs(value - middle));
  return deviations * base::median_or(apart, 0);
}

std::optional<Finding> jump_at(const Facts& f, std::int64_t step) {
  const std::vector<double> before = losses(f, step - 20, step), after = losses(f, step, step + 5);
  if (before.size() < 5 || after.size() < 5) return std::nullopt;
  const double was = base::median_or(losses(f, step - 10, step), 0), is = base::median_or(after, 0);
  if (is < 1.1 * was || is - was < 4 * spread_of(before)) return std::nullopt;
  Finding found{"jump_after_resume", {say("on resuming from step {}, the loss jumps from {} to {}", step, number(was), number(is))}, {}};
  if (f.data_differ) found.evidence.push_back(say("the data differ from those that the checkpoint was trained on"));
  for (std::size_t i = 0; i < f.changed_settings.size() && i < 5; ++i)
    found.evidence.push_back(f.changed_settings[i]);
  found.advice.push_back({say("compare config.yaml and config-2.yaml, and start with the earlier settings"), say("a resume restores weights, optimizer and position in the data: another change caused the jump")});
  if (f.data_differ || f.changed_settings.empty())
    found.advice.push_back({say("give every host the same data"), say("different data, or a different order of files, is a new task for the model")});
  found.advice.push_back(set("train.resume", fmt::format("{}/checkpoints/step-{:08}", f.folder, step),
                             say("the checkpoint of step {}, with the earlier settings", step)));
  return found;
}

std::optional<Finding> jump_after_resume(const Facts& f) {
  for (auto step = f.resumed_at.rbegin(); step != f.resumed_at.rend(); ++step)
    if (auto found = jump_at(f, *step)) return found;
  return std::nullopt;
}

std::optional<Finding> overfitting(const Facts& f) {
  std::vector<std::pair<std::int64_t, double>> valid;
  for (const StepMetrics& row : f.rows)
    if (row.extra.count("valid_loss") > 0) valid.emplace_back(row.step, extra(row, "valid_loss"));
  if (valid.size() < 4) return std::nullopt;
  const auto lowest =
      std::min_element(valid.begin(), valid.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto& [last_step, last] = valid.back();
  const double before_last = valid[valid.size() - 2].second;
  const bool rises = valid.end() - lowest > 2 && last > 1.03 * lowest->second && before_last > lowest->second &&
                     last > 0.995 * before_last;
  if (!rises) return std::nullopt;
  const double then = base::median_or(losses(f, lowest->first - 20, lowest->first), 0),
               now = base::median_or(losses(f, last_step - 20, last_step), 0);
  if (!(now < 0.99 * then)) return std::nullopt;
  return Finding{"overfitting",
                 {say("the validation loss reached its minimum of {0} at step {1} and is {2} at step {3}", number(lowest->second), lowest->first, number(last), last_step),
                  say("meanwhile the training loss fell from {} to {}", number(then), number(now))},
                 {set("train.steps", std::to_string(lowest->first), say("after step {} the model only memorizes its samples", lowest->first)),
                  lower_rate(f), set("checkpoint.keep_best", "true", say("the checkpoint of step {} is the one to use", lowest->first))}};
}

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

Rules rules_of_learning() {
  return {no_tokens_in_rows, skips_every_step, losses_without_number, jump_after_resume, rising_loss, no_rate,
          flat_loss,         overfitting};
}

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

void add_rise(const Facts& facts, Finding* found) {
  std::vector<std::string> norms;
  const std::size_t from = facts.rows.size() > 4 ? facts.rows.size() - 4 : 0;
  for (std::size_t i = from; i < facts.rows.size(); ++i) norms.push_back(number(facts.rows[i].grad_norm));
  if (!norms.empty())
    found->evidence.push_back(say("gradient norms of the last steps, up to step {}: {}", facts.rows.back().step, fmt::format("{}", fmt::join(norms, ", "))));
  const std::int64_t quiet = last_quiet_step(facts);
  if (quiet < 0) return;
  found->evidence.push_back(say("after step {} the gradient norm is at least ten times its usual value", quiet));
  const auto after = std::upper_bound(facts.complete_saves.begin(), facts.complete_saves.end(), quiet);
  if (after == facts.complete_saves.begin()) return;
  const std::int64_t step = *std::prev(after);
  if (found->advice.size() > 2) found->advice.pop_back();
  found->advice.push_back(set("train.resume", fmt::format("{}/checkpoints/step-{:08}", facts.folder, step),
                              say("the checkpoint of step {} predates the rise", step)));
}

}  // namespace troika::diagnosis
