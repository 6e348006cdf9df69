#include "train/trainer_state.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace troika::train {
namespace {

double number(const checkpoint::Found& found, const char* name) {
  double value = 0;
  const auto text = found.facts.extra.find(name);
  if (text == found.facts.extra.end() || !base::parse_double(text->second, &value))
    throw base::DataError(fmt::format("the checkpoint '{}' does not say its {}", found.path, name));
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
        fmt::format("the checkpoint '{}' has {} as its {}, which is no whole number from {} to {}: it is damaged, resume "
                    "from another one",
                    found.path, found.facts.extra.at(name), name, least, most));
  return static_cast<std::int64_t>(value);
}

// Up to there a double counts.
std::int64_t count(const checkpoint::Found& found, const char* name) {
  return integer(found, name, 0, std::int64_t{1} << 53);
}

}  // namespace

std::map<std::string, std::string> facts_of(const TrainerState& state, const optimizer::LossScale& scale,
                                            const optimizer::GradientExponents& exponents) {
  std::map<std::string, std::string> facts{{"samples_seen", std::to_string(state.samples)},
                                           {"tokens_seen", std::to_string(state.tokens)},
                                           {"skipped_steps", std::to_string(state.skipped)},
                                           {"repeated_steps", std::to_string(state.repeated)}};
  for (const auto& [name, exponent] : exponents.by_name()) facts[exponent_prefix + name] = std::to_string(exponent);
  if (state.rolled_back > 0) facts["rolled_back"] = std::to_string(state.rolled_back);
  if (state.best.step > 0) {
    facts["best_step"] = std::to_string(state.best.step);
    facts["best_loss"] = fmt::format("{:.17g}", state.best.loss);
    facts["best_on"] = state.best.on;
  }
  if (state.best.stale > 0) facts["evaluations_without_lower"] = std::to_string(state.best.stale);
  if (!scale.dynamic()) return facts;
  facts["loss_scale"] = fmt::format("{:.17g}", scale.scale());
  facts["good_steps"] = std::to_string(scale.good_steps());
  return facts;
}

TrainerState trainer_state_of(const checkpoint::Found& found) {
  TrainerState state;
  state.step = found.facts.step;
  state.samples = count(found, "samples_seen");
  state.tokens = count(found, "tokens_seen");
  if (found.facts.extra.count("skipped_steps") > 0) state.skipped = count(found, "skipped_steps");
  if (found.facts.extra.count("repeated_steps") > 0) state.repeated = count(found, "repeated_steps");
  if (found.facts.extra.count("rolled_back") > 0) state.rolled_back = count(found, "rolled_back");
  const auto best_on = found.facts.extra.find("best_on");
  if (best_on != found.facts.extra.end())
    state.best = {count(found, "best_step"), number(found, "best_loss"), best_on->second, 0};
  if (found.facts.extra.count("evaluations_without_lower") > 0)
    state.best.stale = count(found, "evaluations_without_lower");
  return state;
}

void restore_scale(const checkpoint::Found& found, optimizer::LossScale* scale) {
  if (found.facts.extra.count("loss_scale") == 0) return;
  const double value = number(found, "loss_scale");
  if (!std::isfinite(value) || value <= 0)
    throw base::DataError(fmt::format(
        "the checkpoint '{}' has {} as its loss_scale, which must be above 0: it is damaged, resume from another one",
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
