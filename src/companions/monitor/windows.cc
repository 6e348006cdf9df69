#include "monitor/windows.h"

#include <algorithm>

namespace troika::monitor {
namespace {

constexpr double window_seconds = 60;
constexpr double usual_interval = 5, silent_intervals = 3;
constexpr double clock_slack_seconds = 1;

int attempt_of(const records::RunReader& run) {
  if (run.state()) return run.state()->attempt;
  int newest = -1;
  for (const auto& [rank, samples] : run.samples())
    if (!samples.empty()) newest = std::max(newest, samples.back().attempt);
  return newest;
}

// Samples of one attempt have rising numbers; a launch that came before may have had an attempt of the same number.
const records::Sample* first_of(const std::deque<records::Sample>& samples) {
  const records::Sample *first = nullptr, *next = &samples.back();
  for (auto it = samples.rbegin() + 1; it != samples.rend(); ++it) {
    const bool same =
        it->attempt == next->attempt && it->number < next->number && it->elapsed_seconds < next->elapsed_seconds;
    if (!same || samples.back().elapsed_seconds - it->elapsed_seconds > window_seconds) break;
    first = next = &*it;
  }
  return first;
}

}  // namespace

std::map<int, SampleWindow> windows_of(const Observed& observed) {
  std::map<int, SampleWindow> windows;
  const int attempt = attempt_of(observed.run);
  const double began = observed.run.state() ? observed.run.state()->began : 0;
  for (const auto& [rank, samples] : observed.run.samples()) {
    if (samples.empty() || samples.back().attempt != attempt) continue;
    const auto heard = observed.heard.find(rank);
    const double at = heard == observed.heard.end() ? samples.back().time : heard->second;
    if (at + clock_slack_seconds < began) continue;
    windows[rank] = {&samples.back(), first_of(samples), at};
  }
  return windows;
}

double sample_interval(const records::RunReader& run) {
  return run.state() && run.state()->sample_seconds > 0 ? run.state()->sample_seconds : usual_interval;
}

bool is_silent(const SampleWindow& window, const Observed& observed) {
  return observed.now - window.heard > silent_intervals * sample_interval(observed.run);
}

}  // namespace troika::monitor
