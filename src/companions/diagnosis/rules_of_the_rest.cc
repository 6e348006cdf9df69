// Of what no other rule knows, the kind of error tells.
#include <cmath>

#include "base/say.h"
#include "diagnosis/learning.h"
#include "diagnosis/rules.h"

namespace troika::diagnosis {
namespace {

int code_of_failure(const Facts& f) {
  if (f.report_code != 0) return f.report_code;
  return f.death ? f.death->exit_code : 0;
}

std::vector<Evidence> all_told(const Facts& f) {
  std::vector<Evidence> evidence;
  if (!f.told.empty()) evidence.push_back(quoted(f.told.front()));
  add_place(f, &evidence);
  return evidence;
}

AdviceList with_flags_of_message(const Facts& f) {
  AdviceList advice = f.told.empty() ? AdviceList{} : flags_named_in(f.told.front().text);
  if (advice.size() < 3) advice.push_back({say("do what the message says"), say("it names the setting or the file, the rule and the remedy")});
  return advice;
}

std::optional<Finding> changed_bits(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::changed_bits});
  if (told == nullptr) return std::nullopt;
  return Finding{"changed_bits",
                 {quoted(*told)},
                 {command("memtester 1G 1", say("faulty memory looks the same when it is always one host")),
                  {say("leave that host out"), say("its results cannot be trusted until it is tested")},
                  same_again(f)}};
}

std::optional<Finding> by_exit_code(const Facts& f) {
  if (!f.failed()) return std::nullopt;
  switch (code_of_failure(f)) {
    case 2:
      return Finding{"settings_refused", all_told(f), with_flags_of_message(f)};
    case 3:
      return Finding{
          "data_refused",
          all_told(f),
          {{say("do what the message says"), say("it names the setting or the file, the rule and the remedy")}, command("troika data inspect", say("it shows samples as the run sees them, with the tokens that carry loss"))}};
    case 70:
      return Finding{"internal_fault", all_told(f), {{say("report it with the log of the rank"), say("this is a fault of the program, unless it always happens on one host")}, same_again(f)}};
    default:
      return Finding{"peer_lost",
                     all_told(f),
                     {{say("look at the logs of the ranks"), say("the rank that was first to fail says more there")},
                      run_doctor(),
                      launch(LaunchFlag::max_restarts, "3", say("the launcher starts all ranks again, from the newest checkpoint where there is one"))}};
  }
}

}  // namespace

Rules rules_of_the_rest() { return {changed_bits, by_exit_code}; }

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
