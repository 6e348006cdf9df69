#include "train/position.h"

#include <fmt/format.h>

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

std::int64_t integer(const checkpoint::Found& found, const char* name) {
  return static_cast<std::int64_t>(number(found, name));
}

}  // namespace

std::map<std::string, std::string> facts_of(const Position& position, const optimizer::LossScale& scale) {
  std::map<std::string, std::string> facts{{"samples_seen", std::to_string(position.samples)},
                                           {"tokens_seen", std::to_string(position.tokens)},
                                           {"skipped_steps", std::to_string(position.skipped)}};
  if (position.best.step > 0) {
    facts["best_step"] = std::to_string(position.best.step);
    facts["best_loss"] = fmt::format("{:.17g}", position.best.loss);
    facts["best_on"] = position.best.on;
  }
  if (!scale.dynamic()) return facts;
  facts["loss_scale"] = fmt::format("{:.17g}", scale.scale());
  facts["good_steps"] = std::to_string(scale.good_steps());
  return facts;
}

Position position_of(const checkpoint::Found& found) {
  Position position;
  position.step = found.facts.step;
  position.samples = integer(found, "samples_seen");
  position.tokens = integer(found, "tokens_seen");
  if (found.facts.extra.count("skipped_steps") > 0) position.skipped = integer(found, "skipped_steps");
  const auto best_on = found.facts.extra.find("best_on");
  if (best_on != found.facts.extra.end())
    position.best = {integer(found, "best_step"), number(found, "best_loss"), best_on->second};
  return position;
}

void restore_scale(const checkpoint::Found& found, optimizer::LossScale* scale) {
  if (found.facts.extra.count("loss_scale") == 0) return;
  scale->restore(number(found, "loss_scale"), integer(found, "good_steps"));
}

}  // namespace troika::train
