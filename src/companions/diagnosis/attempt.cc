#include "diagnosis/facts.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"

namespace troika::diagnosis {
using records::Event;
using records::EventKind;

namespace {

constexpr double last_words_seconds = 30;            // of an attempt that has ended
constexpr double ended_with_the_others_seconds = 1;  // after the report; then launchers end the ranks that are left

bool ends_an_attempt(EventKind kind) {
  return kind == EventKind::failure || kind == EventKind::stop || kind == EventKind::finish ||
         kind == EventKind::rank_failed || kind == EventKind::rank_ended;
}

bool begins_an_attempt(EventKind kind) {
  return kind == EventKind::launch || kind == EventKind::start || kind == EventKind::resume;
}

// A shell's and a wrapper's way to tell of a signal.
int signal_of(const Event& event) {
  const int signal = static_cast<int>(event.number("signal")), code = static_cast<int>(event.number("exit_code"));
  if (signal != 0) return signal;
  return code > 128 && code < 160 && code != base::exit_interrupted ? code - 128 : 0;
}

bool is_consequence(const Event& event, const Event* report) {
  const int signal = signal_of(event);
  if (signal == 0) return static_cast<int>(event.number("exit_code")) == base::exit_peer_lost;
  return report != nullptr && event.time > report->time + ended_with_the_others_seconds;
}

Told told_by(const Event& event) { return {event.text, event.incident.value_or(records::Incident{})}; }

const Event* last_report(const std::vector<Event>& events) {
  const auto found =
      std::find_if(events.rbegin(), events.rend(), [](const Event& event) { return event.kind == EventKind::failure; });
  return found == events.rend() ? nullptr : &*found;
}

// The earliest that is no consequence, before others the one that the report names; else the earliest.
const Event* first_end(const std::vector<Event>& events, const Event* report) {
  const int named = report == nullptr ? -1 : report->rank >= 0 ? report->rank : told_by(*report).what.who.rank;
  const Event* best = nullptr;
  const auto worth = [&](const Event& event) {
    const bool of_named = named >= 0 && event.rank == named;
    return (is_consequence(event, report) ? 0 : 4) + (of_named ? 2 : 0) + (signal_of(event) != 0 ? 1 : 0);
  };
  for (const Event& event : events) {
    if (event.kind != EventKind::rank_ended && event.kind != EventKind::rank_failed) continue;
    const bool better =
        best == nullptr || worth(event) > worth(*best) || (worth(event) == worth(*best) && event.time < best->time);
    if (better) best = &event;
  }
  return best;
}

// All that is known of the end of its rank: what the rank has said, and what its launcher has seen.
Death death_of(const std::vector<Event>& events, const Event& first, const Event* report) {
  Death death;
  death.rank = first.rank;
  death.host = first.host;
  for (const Event& event : events) {
    if (event.rank != first.rank) continue;
    if (event.kind == EventKind::rank_failed) {
      // A second process of that number may lose its peer.
      if (&event != &first && first.kind == EventKind::rank_failed && is_consequence(event, report)) continue;
      death.told = told_by(event);
      death.step = event.step;
      if (death.exit_code == 0) death.exit_code = static_cast<int>(event.number("exit_code"));
    } else if (event.kind == EventKind::rank_ended) {
      const bool spoke_before = &event != &first && is_consequence(event, report);
      death.signal = spoke_before ? 0 : signal_of(event);
      if (signal_of(event) == 0) death.exit_code = static_cast<int>(event.number("exit_code"));
      death.memory_kills = event.number("memory_kills", -1);
      death.swap_in_pages = event.number("swap_in_pages");
      death.last_lines = event.word("last_lines");
      if (death.told.text.empty()) death.told = told_by(event);
    }
  }
  if (death.signal != 0) death.exit_code = 0;
  return death;
}

// Those that none of the later ones takes back.
std::vector<Event> standing_of(const std::vector<Event>& notices) {
  std::vector<Event> standing;
  for (const Event& notice : notices) {
    if (!notice.incident) continue;
    const auto over = [&](const Event& before) { return records::is_over(*before.incident, *notice.incident); };
    standing.erase(std::remove_if(standing.begin(), standing.end(), over), standing.end());
    if (!records::is_recovery(notice.incident->kind)) standing.push_back(notice);
  }
  return standing;
}

Ending ending_of(const std::vector<Event>& events) {
  Ending ending = Ending::running;
  bool asked = false, begun = false;
  for (const Event& event : events) {
    const bool interrupted = static_cast<int>(event.number("exit_code")) == base::exit_interrupted;
    if (event.kind == EventKind::stop_requested) asked = true;
    if (event.kind == EventKind::start) begun = true;
    if (event.kind == EventKind::finish) ending = Ending::finished;
    if (event.kind == EventKind::stop) ending = Ending::stopped;
    if (event.kind == EventKind::failure) ending = interrupted ? Ending::stopped : Ending::failed;
  }
  if (ending != Ending::running) return ending;
  const bool died = std::any_of(events.begin(), events.end(), [](const Event& event) {
    return event.kind == EventKind::rank_failed || event.kind == EventKind::rank_ended;
  });
  if (asked && !begun) return Ending::stopped;  // before the first step nobody is left to write that it has
  return died ? Ending::failed : events.empty() ? Ending::unknown : Ending::running;
}

void tell(const Told& what, std::vector<Told>* told) {
  const bool known = std::any_of(told->begin(), told->end(), [&](const Told& one) { return one.text == what.text; });
  if (!what.text.empty() && !known) told->push_back(what);
}

}  // namespace

// Lines of other hosts may come late, so what is older than what its host has said before begins nothing.
std::vector<Event> last_attempt(const std::deque<Event>& events) {
  std::size_t begin = 0;
  bool ended = false, trained = false;
  double ended_at = 0;
  std::set<std::string> launched;              // hosts
  std::map<std::string, double> last_of_host;  // when it said its last word in this attempt
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const auto last = last_of_host.find(event.host);
    const bool is_new = last == last_of_host.end() || event.time > last->second;
    const bool launches_again = event.kind == EventKind::launch && launched.count(event.host) > 0 && is_new;
    const bool trains_again = trained && (event.kind == EventKind::resume || event.kind == EventKind::start);
    const bool long_after = ended && event.time > ended_at + last_words_seconds;
    if ((ended && begins_an_attempt(event.kind) && is_new) || launches_again || trains_again || long_after) {
      begin = i;
      ended = trained = false;
      launched.clear();
      last_of_host.clear();
    }
    if (event.kind == EventKind::launch) launched.insert(event.host);
    trained = trained || event.kind == EventKind::start;
    if (ends_an_attempt(event.kind)) {
      ended_at = ended ? std::max(ended_at, event.time) : event.time;
      ended = true;
    }
    double& said = last_of_host[event.host];
    said = std::max(said, event.time);
  }
  return {events.begin() + static_cast<std::ptrdiff_t>(begin), events.end()};
}

void tell_of_attempt(const std::vector<Event>& events, Facts* facts) {
  facts->ending = ending_of(events);
  const Event* report = last_report(events);
  if (report != nullptr) {
    facts->report = told_by(*report);
    facts->report_code = static_cast<int>(report->number("exit_code"));
  }
  const Event* first = first_end(events, report);
  if (first != nullptr && facts->ending == Ending::failed) {
    facts->death = death_of(events, *first, report);
    tell(facts->death->told, &facts->told);
  }
  if (facts->report) tell(*facts->report, &facts->told);
  Told failed_save;
  for (const Event& event : events) {
    if (event.kind == EventKind::notice) facts->notices.push_back(event);
    if (event.kind == EventKind::save_failed) failed_save = told_by(event);
    if (event.kind == EventKind::stop_requested && facts->stop_signal == 0)
      facts->stop_signal = static_cast<int>(event.number("signal"));
    if (event.kind != EventKind::save) continue;
    failed_save = {};
    ++facts->saves;
    facts->save_seconds += event.number("seconds");
  }
  tell(failed_save, &facts->told);
  facts->standing = standing_of(facts->notices);
}

}  // namespace troika::diagnosis
