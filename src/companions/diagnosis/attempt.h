// The last attempt of a run, cut out of its events: how it ended, who was first to die, what was told.
#pragma once

#include <deque>
#include <vector>

#include "diagnosis/facts.h"

namespace troika::diagnosis {

// Those of the last attempt, in order. An attempt ends with a failure, a stop or a finish, and with another beginning.
std::vector<records::Event> last_attempt(const std::deque<records::Event>& events);

// Fills in what the events of an attempt tell: ending (unless they do not), death, report, told, last_lines, notices, standing,
// saves, stop_signal.
void tell_of_attempt(const std::vector<records::Event>& events, Facts* facts);

}  // namespace troika::diagnosis
