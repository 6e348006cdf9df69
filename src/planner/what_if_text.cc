#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "machine/quantities.h"
#include "planner/what_if.h"

namespace troika::planner {
namespace {

using nlohmann::json;

std::string row_of(const std::string& what, const StepShares& shares, std::int64_t tokens) {
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

std::string link_text(const WhatIf& answer) {
  if (!answer.link) return "";
  const bool of_run = answer.link_from == WhatIf::LinkFrom::run;
  const auto& other = of_run ? answer.of_transfers : answer.of_run;
  std::string text = fmt::format("link     {}, {}", text_of(*answer.link),
                                 of_run ? "as the run measured it" : "as the transfers of these steps went");
  if (other)
    text += fmt::format("; {}: {}", of_run ? "the transfers of these steps went" : "the run measured", text_of(*other));
  return text + "\n";
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

std::string to_text(const WhatIf& answer) {
  std::string text = fmt::format("run      {}, step{} {}: {}\n", answer.run, answer.steps.size() == 1 ? "" : "s",
                                 fmt::join(answer.steps, ", "), answer.layout);
  text += link_text(answer);
  text += fmt::format("change   {}", answer.changes);
  if (answer.changed_layout != answer.layout) text += ": " + answer.changed_layout;
  if (answer.changed_link && answer.link && answer.changed_link->bytes_per_second != answer.link->bytes_per_second)
    text += "; the link " + text_of(*answer.changed_link);
  text += fmt::format("\n\n{:<12} {:>10} {:>16} {:>16} {:>16} {:>10}\n", "", "step", "compute", "communication",
                      "bubble", "tokens/s");
  text += row_of("measured", answer.measured, answer.tokens);
  text += row_of("replayed", answer.replayed, answer.tokens);
  text += row_of("with change", answer.changed, answer.changed_tokens);
  text += fmt::format("\nrange    {} to {} with the change; the replay without it is {:.1f} % {} than measured\n",
                      base::format_duration(answer.lowest_seconds), base::format_duration(answer.highest_seconds),
                      100 * std::abs(replay_error(answer)), replay_error(answer) < 0 ? "shorter" : "longer");
  text += fmt::format("limit    {}\n", answer.limit);
  for (const std::string& note : answer.notes) text += fmt::format("note     {}\n", note);
  return text;
}

std::string to_json(const WhatIf& answer) {
  const char* const from = answer.link_from == WhatIf::LinkFrom::run         ? "run"
                           : answer.link_from == WhatIf::LinkFrom::transfers ? "transfers"
                                                                             : "none";
  json changed = json_of(answer.changed, answer.changed_tokens);
  changed["lowest_step_seconds"] = answer.lowest_seconds;
  changed["highest_step_seconds"] = answer.highest_seconds;
  const json document = {{"run", answer.run},
                         {"steps", answer.steps},
                         {"changes", answer.changes},
                         {"layout", answer.layout},
                         {"changed_layout", answer.changed_layout},
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
                         {"limit", answer.limit},
                         {"notes", answer.notes}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace troika::planner
