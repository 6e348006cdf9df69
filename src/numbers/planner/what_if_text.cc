#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/say.h"
#include "base/units.h"
#include "machine/quantities.h"
#include "planner/what_if.h"
#include "planner/what_if_texts.h"

namespace troika::planner {
namespace {

using nlohmann::json;

std::string row_of(std::string_view what, const StepShares& shares, std::int64_t tokens) {
  const auto cell = [&](double seconds) {
    const double share = shares.step_seconds > 0 ? 100 * seconds / shares.step_seconds : 0;
    return fmt::format("{:>8} {:>5.1f}%", base::format_duration(seconds), share);
  };
  return fmt::format("{:<12} {:>10} {:>16} {:>16} {:>16} {:>10.0f}\n", what, base::format_duration(shares.step_seconds),
                     cell(shares.compute_seconds), cell(shares.communication_seconds), cell(shares.bubble_seconds),
                     static_cast<double>(tokens) / shares.step_seconds);
}

std::string text_of(const schedule::Link& link) {
  return machine::format_link(link.latency_seconds, link.bytes_per_second);
}

base::Text link_text(const WhatIf& answer) {
  const WhatIfTexts& t = what_if_texts;
  const bool of_run = answer.link_from == WhatIf::LinkFrom::run;
  const auto& other = of_run ? answer.of_transfers : answer.of_run;
  const base::Text link = base::say(of_run ? t.of_run : t.of_transfers, text_of(*answer.link));
  if (!other) return link;
  return base::join({link, base::say(of_run ? t.transfers_went : t.run_measured, text_of(*other))}, {"", ""});
}

double replay_error(const WhatIf& answer) {
  return answer.measured.step_seconds > 0 ? answer.replayed.step_seconds / answer.measured.step_seconds - 1 : 0;
}

json json_of(const StepShares& shares, std::int64_t tokens) {
  return {{"step_seconds", shares.step_seconds},
          {"compute_seconds", shares.compute_seconds},
          {"communication_seconds", shares.communication_seconds},
          {"bubble_seconds", shares.bubble_seconds},
          {"tokens_per_second", shares.step_seconds > 0 ? static_cast<double>(tokens) / shares.step_seconds : 0}};
}

json json_of(const std::optional<schedule::Link>& link) {
  if (!link || !std::isfinite(link->bytes_per_second)) return nullptr;
  return {{"latency_seconds", link->latency_seconds}, {"bytes_per_second", link->bytes_per_second}};
}

}  // namespace

std::string to_text(const WhatIf& answer, base::Language language) {
  const WhatIfTexts& t = what_if_texts;
  const auto word = [&](const base::Bilingual& text) { return text.in(language); };
  const auto line = [&](const base::Bilingual& title, const std::string& said) {
    return fmt::format("{:<8} {}\n", word(title), said);
  };
  std::string text =
      line(t.run, base::say(t.steps, answer.run, base::in_english_only(answer.steps.size() == 1 ? "" : "s"),
                            fmt::format("{}", fmt::join(answer.steps, ", ")), answer.layout)
                      .in(language));
  if (answer.link) text += line(t.link, link_text(answer).in(language));
  std::string change = answer.changes;
  if (answer.changed_layout.english != answer.layout.english) change += ": " + answer.changed_layout.in(language);
  if (answer.changed_link && answer.link && answer.changed_link->bytes_per_second != answer.link->bytes_per_second)
    change += base::say(t.new_link, text_of(*answer.changed_link)).in(language);
  text += line(t.change, change);
  text += fmt::format("\n{:<12} {:>10} {:>16} {:>16} {:>16} {:>10}\n", "", word(t.step), word(t.compute),
                      word(t.communication), word(t.bubble), "positions/s");
  text += row_of(word(t.measured), answer.measured, answer.tokens);
  text += row_of(word(t.replayed), answer.replayed, answer.tokens);
  text += row_of(word(t.with_change), answer.changed, answer.changed_tokens);
  text += "\n" +
          line(t.range, base::say(t.of_range, base::format_duration(answer.lowest_seconds),
                                  base::format_duration(answer.highest_seconds), 100 * std::abs(replay_error(answer)),
                                  base::say(replay_error(answer) < 0 ? t.shorter : t.longer))
                            .in(language));
  text += line(t.limit, answer.limit.in(language));
  for (const base::Text& note : answer.notes) text += line(t.note, note.in(language));
  return text;
}

std::string to_json(const WhatIf& answer, base::Language language) {
  const char* const from = answer.link_from == WhatIf::LinkFrom::run         ? "run"
                           : answer.link_from == WhatIf::LinkFrom::transfers ? "transfers"
                                                                             : "none";
  json changed = json_of(answer.changed, answer.changed_tokens);
  changed["lowest_step_seconds"] = answer.lowest_seconds;
  changed["highest_step_seconds"] = answer.highest_seconds;
  const json document = {{"run", answer.run},
                         {"steps", answer.steps},
                         {"changes", answer.changes},
                         {"layout", answer.layout.in(language)},
                         {"changed_layout", answer.changed_layout.in(language)},
                         {"tokens", answer.tokens},
                         {"changed_tokens", answer.changed_tokens},
                         {"link", json_of(answer.link)},
                         {"link_from", from},
                         {"link_of_run", json_of(answer.of_run)},
                         {"link_of_transfers", json_of(answer.of_transfers)},
                         {"changed_link", json_of(answer.changed_link)},
                         {"measured", json_of(answer.measured, answer.tokens)},
                         {"replayed", json_of(answer.replayed, answer.tokens)},
                         {"with_change", std::move(changed)},
                         {"limit", answer.limit.in(language)},
                         {"notes", base::in(answer.notes, language)}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace troika::planner
