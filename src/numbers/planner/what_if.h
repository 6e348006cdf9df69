// How long a recorded step would take with other links, processors, hosts or settings: `troika plan --what-if`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/language.h"
#include "planner/changes.h"
#include "planner/recording.h"

namespace troika::planner {

// Where the time of a step went, of the mean rank (schedule/trace/summary.h).
struct StepShares {
  double step_seconds = 0;  // these three together
  double compute_seconds = 0, communication_seconds = 0, bubble_seconds = 0;
};

struct WhatIf {
  std::string run, changes;
  std::vector<std::int64_t> steps;              // that were replayed
  base::Text layout, changed_layout;            // "pp 3, 1f1b, 4 microbatches of 2 x 64 tokens"
  std::int64_t tokens = 0, changed_tokens = 0;  // of a step

  // Between hosts, or between the ranks of one: as the run measured it before its steps, and as fitted to their transfers;
  // `link` is that of the two which replays the steps more closely.
  std::optional<schedule::Link> of_run, of_transfers, link, changed_link;
  enum class LinkFrom { run, transfers, nowhere };
  LinkFrom link_from = LinkFrom::nowhere;

  // Of the median step of each: as recorded, replayed without a change, replayed with it.
  StepShares measured, replayed, changed;
  // Error bars of changed.step_seconds: over all steps and both links, with and without the factor by which the replay
  // without a change is off.
  double lowest_seconds = 0, highest_seconds = 0;

  base::Text limit;               // a sentence: what the changed step waits for most
  std::vector<base::Text> notes;  // sentences
};

// `words`: changes.h. Where one host becomes several, a change must say what the link between them carries; its latency is
// 0.1 ms unless stated. ConfigError for a word that is no change, a host that is not there, hosts or a schedule that the layout
// does not take; and as read_recording().
WhatIf what_if(const std::string& run, const std::vector<std::string>& words);
WhatIf what_if(const std::string& run, const Recording& recording, const Changes& changes);

std::string to_text(const WhatIf& answer, base::Language language);
std::string to_json(const WhatIf& answer, base::Language language);  // one object, one line

}  // namespace troika::planner
