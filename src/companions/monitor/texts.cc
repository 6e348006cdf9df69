#include "monitor/texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <utility>

#include "base/terminal_text.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "records/incident.h"

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
  return std::string(words.at(static_cast<std::size_t>(condition)).in(language));
}

std::string said(Language language, records::EventKind kind) {
  const auto found =
      std::find_if(kinds_of_events.begin(), kinds_of_events.end(), [&](const auto& row) { return row.first == kind; });
  return found == kinds_of_events.end() ? "" : std::string(found->second.in(language));
}

std::string said_seconds(double seconds) {
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  return seconds < 59.95 ? fmt::format("{:.3g} s", seconds) : base::format_duration(seconds);
}

std::string said(Language language, const Finding& f) {
  switch (f.trouble) {
    case Trouble::run_silent:
      return base::say("no rank has reported for {}: the run or its host may have died silently", said_seconds(f.value)).in(language);
    case Trouble::slow_rank:
      return base::say("rank {} (host {}) is slow: it computes {} per step, ranks with the same work {}", f.rank, f.host, said_seconds(f.value), said_seconds(f.reference)).in(language);
    case Trouble::silent_rank:
      return base::say("rank {} (host {}) has been silent for {}", f.rank, f.host, said_seconds(f.value)).in(language);
    case Trouble::circle:
      return f.host.empty() ? base::say("ranks {} have waited for each other for {}: messages do not get through, check the network between their hosts", f.text, said_seconds(f.value)).in(language)
                            : base::say("ranks {} on host {} have waited for each other for {}: messages between them do not get through, check their logs", f.text, f.host, said_seconds(f.value)).in(language);
    case Trouble::watch:
      return records::in_both(f.text, f.notice).in(language);
    case Trouble::throttled:
      return base::say("host {} was throttled {} by heat in the last minute: check its cooling", f.host, counted(language, f.value, "time")).in(language);
    case Trouble::hot:
      return base::say("host {} is at {} degrees Celsius", f.host, whole(f.value)).in(language);
    case Trouble::quota:
      return base::say("host {} was stalled {} % of the time because its CPU quota was exhausted", f.host, whole(100 * f.value)).in(language);
    case Trouble::swapping:
      return base::say("host {} swaps: {} pages/s are read back, which slows every step", f.host, whole(f.value)).in(language);
    case Trouble::memory_low:
      return base::say("host {} has {} of its {} of memory left", f.host, bytes(f.value), bytes(f.reference)).in(language);
    case Trouble::memory_killed:
      return base::say("host {}: {} killed because memory ran out", f.host, counted(language, f.value, "process was", "processes were")).in(language);
    case Trouble::disk_low:
      return base::say("host {} has {} of disk left; saving needs about {}", f.host, bytes(f.value), bytes(f.reference)).in(language);
    case Trouble::link_errors:
      return base::say("host {} had {} in the last minute: check cable and port", f.host, counted(language, f.value, "link error")).in(language);
    case Trouble::under_voltage:
      return base::say("host {} has under-voltage: use its official power supply", f.host).in(language);
    case Trouble::skipped_steps:
      return base::say("{} of the last {} steps were skipped: their loss or gradients were not finite", whole(f.value), whole(f.reference)).in(language);
  }
  return "";
}

std::string state_words(const View& view, Language language) {
  if (view.restart_follows) return base::say("failed, another attempt follows").in(language);
  std::string words = said(language, view.condition);
  if (view.silent_seconds > 0)
    words += (language == Language::english ? ", " : "，") +
             base::say("silent for {}", said_seconds(view.silent_seconds)).in(language);
  return words;
}

Style state_style(const View& view) {
  if (view.silent_seconds > 0 || view.condition == Condition::failed) return Style::bad;
  if (view.condition == Condition::stopped || view.condition == Condition::unknown) return Style::warning;
  return view.condition == Condition::no_record ? Style::dim : Style::good;
}

std::string loss_words(double loss) {
  if (!std::isfinite(loss)) return "nan";
  return std::abs(loss) < 1000 ? fmt::format("{:.4f}", loss) : fmt::format("{:.4g}", loss);
}

std::string number_words(double value) { return std::isfinite(value) ? base::format_digits(value, 3) : ""; }

std::string rate_words(double per_second) {
  if (!std::isfinite(per_second)) return "";
  return per_second < 100 ? fmt::format("{:.1f}", per_second) : base::format_count(std::llround(per_second));
}

std::string byte_rate_words(double bytes_per_second) {
  return std::isfinite(bytes_per_second) ? base::format_bytes(std::llround(bytes_per_second)) : "";
}

std::string percent_words(double share) { return fmt::format("{:.0f}%", 100 * share); }

double done_share(const Progress& progress) {
  return progress.steps <= 0 ? 0 : static_cast<double>(progress.step) / static_cast<double>(progress.steps);
}

static std::tm broken_down(double time, int utc_offset_seconds) {
  const auto seconds = static_cast<std::time_t>(std::floor(time)) + utc_offset_seconds;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return parts;
}

std::string clock_words(double time, int utc_offset_seconds) {
  const std::tm parts = broken_down(time, utc_offset_seconds);
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string date_words(double time, int utc_offset_seconds) {
  const std::tm parts = broken_down(time, utc_offset_seconds);
  return fmt::format("{:04}-{:02}-{:02} {}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     clock_words(time, utc_offset_seconds));
}

std::string arrow(Charset charset) { return charset == Charset::utf8 ? "\u2192" : "->"; }

std::string where_words(const RankView& rank, Language language) {
  if (rank.standing == Standing::unheard) return base::say("not heard yet").in(language);
  if (rank.standing == Standing::silent)
    return base::say("silent for {}", said_seconds(rank.silent_seconds)).in(language);
  const std::string place = base::printable(records::said(language, rank.place.at), 200);
  if (rank.standing == Standing::ended || place.empty()) return place;
  return base::say("{} for {}", place, said_seconds(rank.place.seconds)).in(language);
}

std::string waits_words(const RankView& rank, Language language, Charset charset) {
  if (rank.standing != Standing::waits) return "";
  if (rank.chain.empty()) return base::say("others").in(language);
  constexpr std::size_t most = 3;
  const std::string between = " " + arrow(charset) + " ";
  std::string words = std::to_string(rank.chain.front());
  if (rank.chain.size() > most) words += between + "..";
  for (std::size_t i = rank.chain.size() > most ? rank.chain.size() - 1 : 1; i < rank.chain.size(); ++i)
    words += between + std::to_string(rank.chain[i]);
  return rank.circle ? words + " " + base::say("(cycle)").in(language) : words;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  for (std::string rest : base::split(base::printable(text, 16384), '\n')) {
    while (base::terminal_columns(rest) > width && width > 0) {
      std::string line = cut_to(rest, width);
      if (line.empty()) break;
      const std::size_t space = line.rfind(' ');
      if (rest[line.size()] != ' ' && space != std::string::npos && space > line.size() / 2) line.resize(space);
      rest.erase(0, line.size());
      rest.erase(0, rest.find_first_not_of(' '));
      lines.push_back(line);
    }
    lines.push_back(rest);
  }
  return lines;
}

}  // namespace troika::monitor
