#include "diagnosis/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/say.h"
#include "diagnosis/advice.h"
#include "diagnosis/causes.h"
#include "diagnosis/judge.h"
#include "diagnosis/rules.h"

namespace troika::diagnosis {
namespace {

std::optional<Finding> first_of(const std::vector<Rules>& lists, const Facts& facts) {
  for (const Rules& rules : lists)
    for (const Rule rule : rules)
      if (auto found = rule(facts)) return found;
  return std::nullopt;
}

// Status of the first to die and counters; what was told; what its log ends with, where older lines may stand; the kind of error.
std::optional<Finding> cause_of_failure(const Facts& facts) {
  if (auto found = first_of({rules_of_memory(), rules_of_signals()}, facts)) return found;
  Facts without_log = facts;
  without_log.last_lines.clear();
  const Rules meeting = rules_of_meeting(), files = rules_of_files();
  if (auto found = first_of({meeting, files, rules_of_numbers(), rules_of_stalls()}, without_log)) return found;
  return first_of({meeting, files, rules_of_the_rest()}, facts);
}

// A save that was given up and a rank that stands still are told of a run that runs on, too.
std::optional<Finding> trouble_of(const Facts& facts) {
  if (facts.stop_signal == 1) return first_of({rules_of_signals()}, facts);
  return first_of({rules_of_files(), rules_of_stalls(), rules_of_learning(), rules_of_hosts(), rules_of_stragglers(),
                   rules_of_threads(), rules_of_speed()},
                  facts);
}

}  // namespace

Diagnosis judge(const Facts& facts) {
  Diagnosis diagnosis;
  const auto found = facts.failed() ? cause_of_failure(facts) : trouble_of(facts);
  if (found) {
    diagnosis.cause = std::string(found->cause);
    diagnosis.evidence = found->evidence;
    diagnosis.advice = found->advice;
  }
  diagnosis.sentence = say(sentence_of(diagnosis.cause));
  return diagnosis;
}

Diagnosis diagnose(const std::string& folder) { return judge(gather(folder, base::wall_seconds())); }

Diagnosis of_silent_disk(const std::string& folder, double seconds) {
  Diagnosis diagnosis;
  diagnosis.cause = "slow_disk";
  diagnosis.sentence = say(sentence_of(diagnosis.cause));
  diagnosis.evidence = {say("reading {} takes more than {} s: its disk does not answer", folder, fmt::format("{:g}", seconds))};
  diagnosis.advice = {other_disk(), set("checkpoint.async", "on", say("checkpoints are written beside training"))};
  return diagnosis;
}

}  // namespace troika::diagnosis
