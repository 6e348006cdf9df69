#include "diagnosis/attempt.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace troika::diagnosis {
using records::Event;
using records::EventKind;

namespace {

constexpr int lost_its_peer = 75;
constexpr double last_words_seconds = 30;            // of an attempt that has ended
constexpr double ended_with_the_others_seconds = 1;  // after the report; then launchers end the ranks that are left

bool ends_an_attempt(EventKind kind) {
  return kind == EventKind::failure || kind == EventKind::stop || kind == EventKind::finish ||
         kind == EventKind::rank_failed || kind == EventKind::rank_ended;
}

bool begins_an_attempt(EventKind kind) {
  return kind == EventKind::launch || kind == EventKind::start || kind == EventKind::resume;
}

// The rank whom a sentence begins with: "rank 2 (host pi3, pid 123) was killed"; -1: none.
int rank_named_by(const std::string& text) {
  const std::string begin = "rank ";
  std::int64_t rank = -1;
  if (text.compare(0, begin.size(), begin) != 0) return -1;
  const std::size_t end = text.find_first_not_of("0123456789", begin.size());
  return base::parse_int(text.substr(begin.size(), end - begin.size()), &rank) ? static_cast<int>(rank) : -1;
}

// The host in "host pi3 computes ..." and "(host pi3, pid 123)"; "": none.
std::string host_named_by(const std::string& text) {
  const std::string mark = "host ";
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + mark.size();
  return text.substr(begin, text.find_first_of(" ,)", begin) - begin);
}

// "the launcher got signal 1 (SIGHUP)"; 0: none.
int signal_named_by(const std::string& text) {
  const std::string mark = "signal ";
  const std::size_t at = text.find(mark);
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + mark.size());
}

// A shell's and a wrapper's way to tell of a signal.
int signal_of(const Event& event) {
  const int signal = static_cast<int>(event.number("signal")), code = static_cast<int>(event.number("exit_code"));
  if (signal != 0) return signal;
  return code > 128 && code < 160 && code != base::exit_interrupted ? code - 128 : 0;
}

bool is_consequence(const Event& event, const Event* report) {
  const int signal = signal_of(event);
  if (signal == 0) return static_cast<int>(event.number("exit_code")) == lost_its_peer;
  return report != nullptr && event.time > report->time + ended_with_the_others_seconds;
}

const Event* last_report(const std::vector<Event>& events) {
  const auto found =
      std::find_if(events.rbegin(), events.rend(), [](const Event& event) { return event.kind == EventKind::failure; });
  return found == events.rend() ? nullptr : &*found;
}

// The earliest that is no consequence, before others the one that the report names; else the earliest.
const Event* first_end(const std::vector<Event>& events, const Event* report) {
  const int named = report == nullptr ? -1 : report->rank >= 0 ? report->rank : rank_named_by(report->text);
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
      death.text = event.text;
      death.step = event.step;
      if (death.exit_code == 0) death.exit_code = static_cast<int>(event.number("exit_code"));
    } else if (event.kind == EventKind::rank_ended) {
      const bool spoke_before = &event != &first && is_consequence(event, report);
      death.signal = spoke_before ? 0 : signal_of(event);
      if (signal_of(event) == 0) death.exit_code = static_cast<int>(event.number("exit_code"));
      death.memory_kills = event.number("memory_kills", -1);
      death.swap_in_pages = event.number("swap_in_pages");
      death.last_lines = event.word("last_lines");
      if (death.text.empty()) death.text = event.text;
    }
  }
  if (death.signal != 0) death.exit_code = 0;
  return death;
}

// Whether `later` says that what `notice` says is over.
bool is_over(const Event& notice, const Event& later) {
  const auto says = [&](std::string_view words) { return later.text.find(words) != std::string::npos; };
  if (!says(" continues after ") && !says(" writes again after ") && !says(" as fast as its like again")) return false;
  const int rank = rank_named_by(later.text);
  if (rank >= 0) return rank == rank_named_by(notice.text);
  return rank_named_by(notice.text) < 0 && host_named_by(notice.text) == host_named_by(later.text);
}

std::vector<Event> standing_of(const std::vector<Event>& notices) {
  std::vector<Event> standing;
  for (const Event& notice : notices) {
    const auto over = [&](const Event& before) { return is_over(before, notice); };
    standing.erase(std::remove_if(standing.begin(), standing.end(), over), standing.end());
    const bool ends_one = is_over(notice, notice);
    if (!ends_one) standing.push_back(notice);
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

void tell(const std::string& text, std::vector<std::string>* told) {
  if (!text.empty() && std::find(told->begin(), told->end(), text) == told->end()) told->push_back(text);
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
    facts->report = report->text;
    facts->report_code = static_cast<int>(report->number("exit_code"));
  }
  const Event* first = first_end(events, report);
  if (first != nullptr && facts->ending == Ending::failed) {
    facts->death = death_of(events, *first, report);
    tell(facts->death->text, &facts->told);
    facts->last_lines = base::split(facts->death->last_lines, '\n');
  }
  tell(facts->report, &facts->told);
  std::string failed_save;
  for (const Event& event : events) {
    if (event.kind == EventKind::notice) facts->notices.push_back(event);
    if (event.kind == EventKind::save_failed) failed_save = event.text;
    if (event.kind == EventKind::stop_requested && facts->stop_signal == 0)
      facts->stop_signal = signal_named_by(event.text);
    if (event.kind != EventKind::save) continue;
    failed_save.clear();
    ++facts->saves;
    facts->save_seconds += event.number("seconds");
  }
  tell(failed_save, &facts->told);
  facts->standing = standing_of(facts->notices);
}

}  // namespace troika::diagnosis
