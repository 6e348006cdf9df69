#include "launch/launcher.h"

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/terminal_text.h"

namespace troika::launch {

void Speaker::say(const base::Text& text) const { base::put(command + ": " + text.in(language) + "\n", stderr); }

void wait_or_stop(host::Signals& signals, double seconds) {
  const double until = base::monotonic_seconds() + seconds;
  do {
    const double left = until - base::monotonic_seconds();
    if (host::asks_to_stop(signals.wait(static_cast<int>(std::clamp(left, 0.0, 1.0) * 1000)))) throw Stopped();
  } while (base::monotonic_seconds() < until);
}

void stop_if_asked(host::Signals& signals) {
  for (int signal = signals.wait(0); signal != 0; signal = signals.wait(0))
    if (host::asks_to_stop(signal)) throw Stopped();
}

double RestartPause::after(double attempt_seconds) {
  constexpr double longest_seconds = 60;
  if (attempt_seconds >= longest_seconds) next_ = 1;
  const double now = next_;
  next_ = std::min(2 * next_, longest_seconds);
  return now;
}

void RecentKills::note(double now, std::int64_t count) {
  if (count < 0) return;
  while (counts_.size() > 1 && counts_[1].first <= now - window_seconds) counts_.pop_front();
  counts_.emplace_back(now, count);
}

}  // namespace troika::launch
