#include "monitor/words.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>

#include "base/text.h"
#include "base/units.h"
#include "monitor/texts.h"

namespace troika::monitor {

std::string state_words(const View& view, Language language) {
  if (view.restart_follows) return said(language, "failed, another attempt follows");
  std::string words = said(language, view.condition);
  if (view.silent_seconds > 0)
    words += (language == Language::english ? ", " : "，") +
             said(language, "silent for {}", said_seconds(view.silent_seconds));
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
  if (rank.standing == Standing::unheard) return said(language, "not heard yet");
  if (rank.standing == Standing::silent)
    return said(language, "silent for {}", said_seconds(rank.silent_seconds));
  const std::string place = base::printable(records::said(language, rank.place.at), 200);
  if (rank.standing == Standing::ended || place.empty()) return place;
  return said(language, "{} for {}", place, said_seconds(rank.place.seconds));
}

std::string waits_words(const RankView& rank, Language language, Charset charset) {
  if (rank.standing != Standing::waits) return "";
  if (rank.chain.empty()) return said(language, "others");
  constexpr std::size_t most = 3;
  const std::string between = " " + arrow(charset) + " ";
  std::string words = std::to_string(rank.chain.front());
  if (rank.chain.size() > most) words += between + "..";
  for (std::size_t i = rank.chain.size() > most ? rank.chain.size() - 1 : 1; i < rank.chain.size(); ++i)
    words += between + std::to_string(rank.chain[i]);
  return rank.circle ? words + " " + said(language, "(circle)") : words;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  for (std::string rest : base::split(base::printable(text, 16384), '\n')) {
    while (columns_of(rest) > width && width > 0) {
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
