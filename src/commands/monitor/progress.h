// How far a run has come.
#pragma once

#include <map>

#include "commands/monitor/windows.h"

namespace troika::commands::monitor {

// `view` has its condition and silence.
Progress progress_of(const Observed& observed, const std::map<int, SampleWindow>& windows, const View& view);

}  // namespace troika::commands::monitor
