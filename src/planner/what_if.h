// How long a recorded step would take with other links, processors, hosts or settings: `troika plan --what-if`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  std::string layout, changed_layout;           // "pp 3, 1f1b, 4 microbatches of 2 x 64 tokens"
  std::int64_t tokens = 0, changed_tokens = 0;  // of a step

  enum class LinkFrom {
    run,
    transfers,
    nowhere
  };  // measured by the run, fitted to its transfers, nothing crosses ranks
  LinkFrom link_from = LinkFrom::nowhere;
  std::optional<schedule::Link> link, changed_link;  // between hosts, or between the ranks of one
  std::optional<schedule::Link> fitted;              // to the transfers of the steps

  // Of the median step of each: as recorded, replayed without a change, replayed with it.
  StepShares measured, replayed, changed;
  // Error bars of changed.step_seconds: over all steps, both links, and the error of the replay without a change, once as a
  // factor and once as seconds.
  double lowest_seconds = 0, highest_seconds = 0;

  std::string limit;               // a sentence: what the changed step waits for most
  std::vector<std::string> notes;  // sentences
};

// `words`: changes.h. ConfigError for a word that is no change, a host that is not there, hosts or a schedule that the layout
// does not take; and as read_recording().
WhatIf what_if(const std::string& run, const std::vector<std::string>& words);
WhatIf what_if(const std::string& run, const Recording& recording, const Changes& changes);

std::string to_text(const WhatIf& answer);
std::string to_json(const WhatIf& answer);  // one object, one line

}  // namespace troika::planner
