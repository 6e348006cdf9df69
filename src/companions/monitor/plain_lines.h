// A run as lines of a log, for where there is no terminal: one each time it is looked at, and what is new.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/language.h"
#include "monitor/view.h"

namespace troika::monitor {

// "training  step 520 of 1000  52.0 %  loss 2.3412  lr 0.0003  12.3 K tokens/s  ETA 3 min 20 s".
std::string progress_words(const View& view, base::Language language);

// Threads: one.
class PlainLines {
 public:
  PlainLines(base::Language language, int utc_offset_seconds)
      : language_(language), utc_offset_seconds_(utc_offset_seconds) {}

  // The line of now; behind it, indented, events since the last call and findings that the last call did not have.
  std::vector<std::string> next(const View& view);

 private:
  std::vector<std::string> new_events(const View& view);
  std::vector<std::string> new_findings(const View& view);

  const base::Language language_;
  const int utc_offset_seconds_;
  bool begun_ = false;
  std::optional<records::Event> last_event_;
  std::set<std::string> told_;  // findings of the last call, without their numbers
};

}  // namespace troika::monitor
