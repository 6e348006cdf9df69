#include "monitor/view.h"

#include <algorithm>

#include "monitor/view_parts.h"
#include "monitor/watch.h"

namespace troika::monitor {

bool is_over(Condition condition) {
  return condition == Condition::finished || condition == Condition::failed || condition == Condition::stopped;
}

namespace {

constexpr std::size_t events_in_view = 100;

// As rank 0 says where it is.
Condition condition_while_training(const std::map<int, SampleWindow>& windows) {
  const auto rank_0 = windows.find(0);
  if (rank_0 == windows.end()) return Condition::training;
  const records::Activity activity = rank_0->second.last->place.at.activity;
  if (activity == records::Activity::evaluating) return Condition::evaluating;
  return records::is_saving(activity) ? Condition::saving : Condition::training;
}

Condition condition_of(const records::RunReader& run, const std::map<int, SampleWindow>& windows) {
  if (!run.state()) {
    const bool empty = run.steps().empty() && run.samples().empty() && run.events().empty();
    return empty ? Condition::no_record : Condition::unknown;
  }
  switch (run.state()->life) {
    case records::Life::preparing:
      return Condition::preparing;
    case records::Life::training:
      return condition_while_training(windows);
    case records::Life::finished:
      return Condition::finished;
    case records::Life::failed:
      return Condition::failed;
    case records::Life::stopped:
      return Condition::stopped;
  }
  return Condition::unknown;
}

double silence_of(const Observed& observed, const std::map<int, SampleWindow>& windows, Condition condition) {
  const bool lives = condition != Condition::no_record && condition != Condition::unknown && !is_over(condition);
  if (!lives || windows.empty()) return 0;
  double heard = 0;
  for (const auto& [rank, window] : windows) {
    if (!is_silent(window, observed)) return 0;
    heard = std::max(heard, window.heard);
  }
  return observed.now - heard;
}

// Whether the launcher has said so after the last failure.
bool restart_follows(const std::deque<records::Event>& events) {
  using records::EventKind;
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (event->kind == EventKind::restart) return true;
    if (event->kind == EventKind::failure || event->kind == EventKind::launch || event->kind == EventKind::start)
      return false;
  }
  return false;
}

}  // namespace

View view_of(const Observed& observed) {
  const auto windows = windows_of(observed);
  const records::RunReader& run = observed.run;
  View view;
  view.folder = run.folder();
  view.now = observed.now;
  view.state = run.state();
  view.condition = condition_of(run, windows);
  view.silent_seconds = silence_of(observed, windows, view.condition);
  view.restarts = run.state() ? run.state()->attempt : 0;
  view.restart_follows = view.condition == Condition::failed && restart_follows(run.events());
  view.progress = progress_of(observed, windows, view);
  view.ranks = rank_views(observed, windows, view.condition);
  view.hosts = host_views(view.ranks, windows);
  view.links = link_views(windows);
  const auto& events = run.events();
  const std::size_t shown = std::min(events.size(), events_in_view);
  view.events.assign(events.end() - static_cast<std::ptrdiff_t>(shown), events.end());
  view.findings = findings_of(observed, &view);
  return view;
}

}  // namespace troika::monitor
