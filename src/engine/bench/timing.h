// Measuring how long something takes.
#pragma once

#include <functional>

namespace troika::bench {

// Runs `work` once to warm up, then until `seconds` have passed and at least once; the median.
double median_seconds(const std::function<void()>& work, double seconds);

// Since this process started, the loading of the program included. To a hundredth of a second.
double seconds_since_process_start();

}  // namespace troika::bench
