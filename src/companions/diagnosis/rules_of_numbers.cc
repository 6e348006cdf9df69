// Runs that ended because their numbers were none any more.
#include <cmath>

#include "base/say.h"
#include "diagnosis/learning.h"
#include "diagnosis/rules.h"

namespace troika::diagnosis {
namespace {

AdviceList advice_of_overflow(const Facts& f) {
  return {set("precision.compute", "bf16", say("bf16 has the range of fp32, and needs no loss scale")), lower_rate(f), longer_warmup(f)};
}

std::optional<Finding> told_of_overflow(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::fp16_overflow});
  if (told == nullptr) return std::nullopt;
  return Finding{"fp16_overflow", {quoted(*told)}, advice_of_overflow(f)};
}

std::optional<Finding> told_of_divergence(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::not_finite});
  if (told == nullptr) return std::nullopt;
  if (auto none = no_tokens_in_rows(f)) return none;
  Finding found{"diverged", {quoted(*told)}, gentler_steps(f)};
  add_rise(f, &found);
  return found;
}

}  // namespace

Rules rules_of_numbers() { return {told_of_overflow, told_of_divergence}; }

}  // namespace troika::diagnosis
