#include "sweep/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/say.h"
#include "base/units.h"
#include "sweep/progress.h"

namespace troika::sweep {
namespace {

using Line = std::vector<std::string>;

// The first column to the left, the others to the right; the last may be as long as it likes where the line is no longer than 2.
std::string aligned(const std::vector<Line>& lines) {
  std::vector<std::size_t> widths;
  for (const Line& line : lines) {
    widths.resize(std::max(widths.size(), line.size()), 0);
    for (std::size_t i = 0; i < line.size(); ++i)
      if (i == 0 || line.size() > 2) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Line& line : lines) {
    text += fmt::format("{:<{}}", line.front(), widths.front());
    for (std::size_t i = 1; i < line.size(); ++i)
      text += line.size() > 2 ? fmt::format("  {:>{}}", line[i], widths[i]) : "  " + line[i];
    text += "\n";
  }
  return text;
}

std::string tokens_per_second(double value) { return fmt::format("{:.0f}", value); }
std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// "4.2 % more than the best", of `value` beside `with`.
base::Text compared(base::Phrase more, base::Phrase less, base::Phrase same, double value, double with) {
  const double difference = 100 * (value / with - 1);
  if (std::abs(difference) < 0.05) return base::say(same);
  return base::say(difference > 0 ? more : less, fmt::format("{:.1f}", std::abs(difference)));
}

base::Text sentence_of_first(const SweepRow* row, const planner::Layout& first, const SweepRow& best) {
  const std::string name = planner::name_of(first);
  if (row == nullptr) return base::say("The plan's first choice, {}, was not run.", name);
  if (!row->measured) return base::say("The plan's first choice was {}, {}", name, outcome_of(*row));
  if (row->layout == best.layout) return base::say("The plan named it first.");
  return base::say("The plan's first choice was {}: {} positions/s, {}.", name, tokens_per_second(row->measured->tokens_per_second),
                   compared(base::Phrase("{} % more than the best"), base::Phrase("{} % less than the best"),
                            base::Phrase("the same as the best"), row->measured->tokens_per_second,
                            best.measured->tokens_per_second));
}

std::vector<std::string> heads(std::initializer_list<base::Phrase> names, base::Language language) {
  std::vector<std::string> line = {""};
  for (const base::Phrase& name : names) line.emplace_back(name.in(language));
  return line;
}

}  // namespace

std::string sweep_table(const SweepRows& rows, base::Language language) {
  constexpr std::size_t most_measured = 40, most_others = 20;
  std::size_t measured = 0, others = 0;
  std::vector<Line> lines = {heads({base::Phrase("positions/s"), base::Phrase("step"), base::Phrase("plan", "predicted"), base::Phrase("memory"), base::Phrase("plan", "predicted"), base::Phrase("resident"), base::Phrase("communication"), base::Phrase("bubble")}, language)};
  for (const SweepRow& row : best_first(rows)) {
    if (row.measured ? ++measured > most_measured : ++others > most_others) continue;
    const std::string name = planner::name_of(row.layout);
    if (!row.measured) {
      lines.push_back({name, outcome_of(row).in(language)});
      continue;
    }
    const SweepMeasured& m = *row.measured;
    lines.push_back({name, tokens_per_second(m.tokens_per_second), base::format_duration(m.step_seconds),
                     base::format_duration(row.predicted.step_seconds), base::format_bytes(m.memory_bytes),
                     base::format_bytes(row.predicted.memory_bytes),
                     m.resident_bytes > 0 ? base::format_bytes(m.resident_bytes) : "-", percent(m.communication_share),
                     percent(m.bubble_share)});
  }
  std::string text = aligned(lines);
  if (measured > most_measured) text += base::say("{} slower ones are in summary.csv", measured - most_measured).in(language) + "\n";
  if (others > most_others) text += base::say("{} more without a measurement, too", others - most_others).in(language) + "\n";
  return text;
}

std::string dry_run_table(const std::vector<planner::Estimate>& estimates, const SweepStep& step, base::Language language) {
  std::vector<Line> lines = {heads({base::Phrase("positions/s"), base::Phrase("step"), base::Phrase("memory"), base::Phrase("with program"), base::Phrase("communication"), base::Phrase("bubble")}, language)};
  for (const planner::Estimate& e : estimates) {
    lines.push_back({planner::name_of(e.layout), tokens_per_second(e.tokens_per_second()),
                     base::format_duration(e.time.step), base::format_bytes(e.memory.at_once),
                     base::format_bytes(e.memory.total()), percent(e.time.share(e.time.communication())),
                     percent(e.time.share(e.time.bubble))});
  }
  return aligned(lines) + sweep_size(estimates, step).in(language) + "\n";
}

base::Text sweep_size(const std::vector<planner::Estimate>& estimates, const SweepStep& step) {
  TimeLeft left(step.steps);
  for (const planner::Estimate& estimate : estimates) left.add(estimate.time.step);
  return base::say("{} of {} a step, {} each: about {}", base::counted_text(static_cast<std::int64_t>(estimates.size()), "layout"),
                   base::counted_text(step.samples, "sample"), base::counted_text(step.steps, "step"),
                   base::format_duration(left.seconds(0)));
}

base::Text sweep_conclusion(const SweepRows& rows, const planner::Layout& first) {
  const SweepRows ordered = best_first(rows);
  if (ordered.empty() || !ordered.front().measured) return base::say("No layout was measured.");
  const SweepRow& best = ordered.front();
  const double step = best.measured->step_seconds, predicted = best.predicted.step_seconds;
  return base::say("The best is {}: {} positions/s, a step in {}; the plan said {}, {}.\n{}", planner::name_of(best.layout),
                   tokens_per_second(best.measured->tokens_per_second), base::format_duration(step),
                   base::format_duration(predicted),
                   compared(base::Phrase("{} % more"), base::Phrase("{} % less"), base::Phrase("the same"), predicted, step),
                   sentence_of_first(find_row(rows, first), first, best));
}

}  // namespace troika::sweep
