// How far a run has come.
#pragma once

#include <map>

#include "monitor/windows.h"

namespace troika::monitor {

// `view` has its condition and silence.
Progress progress_of(const Observed& observed, const std::map<int, SampleWindow>& windows, const View& view);

}  // namespace troika::monitor
