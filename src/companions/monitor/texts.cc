#include "monitor/texts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/say.h"
#include "base/units.h"
#include "records/sentences.h"

namespace troika::monitor {
namespace {

using base::Phrase;

constexpr std::array<std::pair<records::EventKind, Phrase>, 17> kinds_of_events = {
    {{records::EventKind::launch, base::Phrase("launch")},
     {records::EventKind::start, base::Phrase("start", "event")},
     {records::EventKind::resume, base::Phrase("resume")},
     {records::EventKind::save, base::Phrase("save", "event")},
     {records::EventKind::save_failed, base::Phrase("save failed")},
     {records::EventKind::evaluation, base::Phrase("evaluation")},
     {records::EventKind::skipped_step, base::Phrase("skipped step")},
     {records::EventKind::repeated_step, base::Phrase("repeated step")},
     {records::EventKind::rolled_back, base::Phrase("rolled back")},
     {records::EventKind::notice, base::Phrase("notice")},
     {records::EventKind::rank_failed, base::Phrase("rank failed")},
     {records::EventKind::rank_ended, base::Phrase("rank ended")},
     {records::EventKind::failure, base::Phrase("failure")},
     {records::EventKind::restart, base::Phrase("restart")},
     {records::EventKind::stop_requested, base::Phrase("stop requested")},
     {records::EventKind::stop, base::Phrase("stop")},
     {records::EventKind::finish, base::Phrase("finish")}}};

std::string bytes(double value) { return base::format_bytes(static_cast<std::int64_t>(value)); }
std::string whole(double value) { return fmt::format("{:.0f}", value); }
std::string counted(Language language, double value, std::string_view one, std::string_view many = "") {
  return base::counted_text(static_cast<std::int64_t>(value + 0.5), one, many).in(language);
}

}  // namespace

std::string said(Language language, Condition condition) {
  static constexpr std::array<Phrase, 9> words = {
      Phrase("no record yet"),
      Phrase("state unknown"),
      Phrase("preparing"),
      Phrase("training"),
      Phrase("evaluating"),
      Phrase("saving"),
      Phrase("finished"),
      Phrase("failed"),
      Phrase("stopped"),
  };
  return said(language, words.at(static_cast<std::size_t>(condition)));
}

std::string said(Language language, records::EventKind kind) {
  const auto found =
      std::find_if(kinds_of_events.begin(), kinds_of_events.end(), [&](const auto& row) { return row.first == kind; });
  return found == kinds_of_events.end() ? "" : std::string(found->second.in(language));
}

std::string said_text(Language language, const records::Event& event) {
  return records::in_both(event.text, event.incident).in(language);
}

std::string said_end(Language language, const records::RunState& state) {
  return records::in_both(state.text, state.incident).in(language);
}

std::string said_seconds(double seconds) {
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  return seconds < 59.95 ? fmt::format("{:.3g} s", seconds) : base::format_duration(seconds);
}

std::string said(Language language, const Finding& f) {
  switch (f.trouble) {
    case Trouble::run_silent:
      return said(language, "no rank has said anything for {}: the run or its host may have ended without a word", said_seconds(f.value));
    case Trouble::slow_rank:
      return said(language, "rank {} (host {}) is slow: it computes {} a step, ranks with the same work {}", f.rank, f.host, said_seconds(f.value), said_seconds(f.reference));
    case Trouble::silent_rank:
      return said(language, "rank {} (host {}) has been silent for {}", f.rank, f.host, said_seconds(f.value));
    case Trouble::circle:
      return f.host.empty() ? said(language, "ranks {} have waited for each other for {}: no message passes, see the network between their hosts", f.text, said_seconds(f.value))
                            : said(language, "ranks {} on host {} have waited for each other for {}: no message passes between them, see their logs", f.text, f.host, said_seconds(f.value));
    case Trouble::watch:
      return records::in_both(f.text, f.notice).in(language);
    case Trouble::throttled:
      return said(language, "host {} was throttled {} by heat in the last minute: see its cooling", f.host, counted(language, f.value, "time"));
    case Trouble::hot:
      return said(language, "host {} is at {} degrees Celsius", f.host, whole(f.value));
    case Trouble::quota:
      return said(language, "host {} stood still {} % of the time because its CPU quota was used up", f.host, whole(100 * f.value));
    case Trouble::swapping:
      return said(language, "host {} swaps: {} pages/s are read back, which slows every step", f.host, whole(f.value));
    case Trouble::memory_low:
      return said(language, "host {} has {} of its {} of memory left", f.host, bytes(f.value), bytes(f.reference));
    case Trouble::memory_killed:
      return said(language, "host {}: {} killed because memory ran out", f.host, counted(language, f.value, "process was", "processes were"));
    case Trouble::disk_low:
      return said(language, "host {} has {} of disk left; saving needs about {}", f.host, bytes(f.value), bytes(f.reference));
    case Trouble::link_errors:
      return said(language, "host {} had {} in the last minute: see cable and port", f.host, counted(language, f.value, "link error"));
    case Trouble::under_voltage:
      return said(language, "host {} has too little voltage: use the power supply made for it", f.host);
    case Trouble::skipped_steps:
      return said(language, "{} of the last {} steps were skipped: their loss or gradients were not finite", whole(f.value), whole(f.reference));
  }
  return "";
}

}  // namespace troika::monitor
