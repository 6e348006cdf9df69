#include "monitor/watch.h"

#include <sys/stat.h>

#include <algorithm>

namespace troika::monitor {
namespace {

// More rows than one refresh reads, so that the history misses none.
constexpr records::Kept kept_of_run{300'000, 16, 500};

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

// A sample that host 0 gathers is written by host 0: the time of its file's change is by the clock of this folder.
std::map<int, double> heard_in(const records::RunReader& run) {
  std::map<int, double> heard;
  for (const auto& [rank, samples] : run.samples()) {
    struct stat facts {};
    if (!samples.empty() && ::stat(records::samples_path(run.folder(), rank).c_str(), &facts) == 0)
      heard[rank] = static_cast<double>(facts.st_mtim.tv_sec) + static_cast<double>(facts.st_mtim.tv_nsec) / 1e9;
  }
  return heard;
}

RunWatch::RunWatch(const std::string& folder) : run_(folder, kept_of_run) {}

View RunWatch::look(double now) {
  run_.refresh();
  history_.update(run_.steps(), run_.steps_read());
  return view_of({run_, history_, heard_in(run_), now});
}

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
