#include "train/train_state.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::train {
namespace {

double number(const checkpoint::Found& found, const char* name) {
  double value = 0;
  const auto text = found.facts.extra.find(name);
  if (text == found.facts.extra.end() || !base::parse_double(text->second, &value))
    throw base::DataError(base::say("the checkpoint '{}' does not record its {}", found.path, name));
  return value;
}

// Before a parameter's name.
const std::string exponent_prefix = "gradient_exponent.";

// A whole number from `least` to `most`.
std::int64_t integer(const checkpoint::Found& found, const char* name, std::int64_t least, std::int64_t most) {
  const double value = number(found, name);
  const bool fits = value >= static_cast<double>(least) && value <= static_cast<double>(most) &&
                    value == std::floor(value);
  if (!fits)
    throw base::DataError(
        base::say("the checkpoint '{}' has {} as its {}, which is not a whole number from {} to {}: it is damaged, resume from another checkpoint",
                    found.path, found.facts.extra.at(name), name, least, most));
  return static_cast<std::int64_t>(value);
}

// Up to there a double counts.
std::int64_t count(const checkpoint::Found& found, const char* name) {
  return integer(found, name, 0, std::int64_t{1} << 53);
}

}  // namespace

void Best::evaluated(std::int64_t at, double other, const std::string& of, double threshold) {
  const bool lower = step == 0 ? beaten_by(other) : loss - other > threshold;
  stale = lower ? 0 : stale + 1;
  if (beaten_by(other)) *this = {at, other, of, stale};
}

void RunProgress::count(const executor::StepResult& result, std::int64_t global_batch) {
  ++step;
  samples += global_batch;
  tokens += result.tokens;
}

void AttemptTotals::count(const executor::StepResult& result) {
  tokens += result.tokens;
  last_step = result;
  if (result.finite) loss_sum += result.loss;
  if (!result.finite || result.tokens == 0) ++steps_without_loss;
}

void AttemptTotals::count(const inference::Evaluation& evaluation, std::int64_t step) {
  evaluation_seconds += evaluation.seconds;
  valid_step = step;
  valid_loss = evaluation.loss;
}

std::map<std::string, std::string> facts_of(const TrainState& state) {
  const RunProgress& progress = state.progress;
  std::map<std::string, std::string> facts{{"samples_seen", std::to_string(progress.samples)},
                                           {"tokens_seen", std::to_string(progress.tokens)},
                                           {"skipped_steps", std::to_string(progress.skipped)},
                                           {"repeated_steps", std::to_string(progress.repeated)}};
  for (const auto& [name, exponent] : state.exponents.by_name())
    facts[exponent_prefix + name] = std::to_string(exponent);
  if (progress.rolled_back > 0) facts["rolled_back"] = std::to_string(progress.rolled_back);
  if (progress.best.step > 0) {
    facts["best_step"] = std::to_string(progress.best.step);
    facts["best_loss"] = fmt::format("{:.17g}", progress.best.loss);
    facts["best_on"] = progress.best.on;
  }
  if (progress.best.stale > 0) facts["evaluations_without_lower"] = std::to_string(progress.best.stale);
  if (!state.loss_scale.dynamic()) return facts;
  facts["loss_scale"] = fmt::format("{:.17g}", state.loss_scale.scale());
  facts["good_steps"] = std::to_string(state.loss_scale.good_steps());
  return facts;
}

RunProgress progress_of(const checkpoint::Found& found) {
  RunProgress progress;
  progress.step = found.facts.step;
  progress.samples = count(found, "samples_seen");
  progress.tokens = count(found, "tokens_seen");
  if (found.facts.extra.count("skipped_steps") > 0) progress.skipped = count(found, "skipped_steps");
  if (found.facts.extra.count("repeated_steps") > 0) progress.repeated = count(found, "repeated_steps");
  if (found.facts.extra.count("rolled_back") > 0) progress.rolled_back = count(found, "rolled_back");
  const auto best_on = found.facts.extra.find("best_on");
  if (best_on != found.facts.extra.end())
    progress.best = {count(found, "best_step"), number(found, "best_loss"), best_on->second, 0};
  if (found.facts.extra.count("evaluations_without_lower") > 0)
    progress.best.stale = count(found, "evaluations_without_lower");
  return progress;
}

void restore_scale(const checkpoint::Found& found, optimizer::LossScale* scale) {
  if (found.facts.extra.count("loss_scale") == 0) return;
  const double value = number(found, "loss_scale");
  if (!std::isfinite(value) || value <= 0)
    throw base::DataError(base::say(
        "the checkpoint '{}' has {} as its loss_scale, which must be above 0: it is damaged, resume from another checkpoint",
        found.path, found.facts.extra.at("loss_scale")));
  scale->restore(value, count(found, "good_steps"));
}

void restore_exponents(const checkpoint::Found& found, optimizer::GradientExponents* exponents) {
  constexpr std::int64_t most_exponent = 1024;  // of a double
  std::map<std::string, int> by_name;
  const auto& facts = found.facts.extra;
  for (auto fact = facts.lower_bound(exponent_prefix); fact != facts.end(); ++fact) {
    if (fact->first.compare(0, exponent_prefix.size(), exponent_prefix) != 0) break;
    by_name[fact->first.substr(exponent_prefix.size())] = static_cast<int>(integer(found, fact->first.c_str(), -most_exponent, most_exponent));
  }
  exponents->restore(by_name);
}

}  // namespace troika::train
