// Of each rank's samples those that tell of now.
#pragma once

#include <map>

#include "monitor/watch.h"
#include "records/sample.h"

namespace troika::monitor {

struct SampleWindow {
  const records::Sample* last = nullptr;
  const records::Sample* first =
      nullptr;       // an earlier one of the same attempt, at most a minute; nullptr: there is none
  double heard = 0;  // when the last one came, since 1970

  // Of a counter that begins with the attempt; without a first sample, since then.
  template <class Count>
  auto difference(const Count& count) const {
    return first == nullptr ? count(*last) : count(*last) - count(*first);
  }
  double seconds() const { return first == nullptr ? 0 : last->elapsed_seconds - first->elapsed_seconds; }
};

// Of the attempt that state.json names, else of the newest. They point into `observed.run`.
std::map<int, SampleWindow> windows_of(const Observed& observed);

double sample_interval(const records::RunReader& run);  // seconds
// Whether no sample has come for three intervals.
bool is_silent(const SampleWindow& window, const Observed& observed);

}  // namespace troika::monitor
