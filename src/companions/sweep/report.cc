#include "sweep/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
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

// "4.2 % more", "2.9 % less", "the same".
std::string compared(double value, double with) {
  const double difference = 100 * (value / with - 1);
  if (std::abs(difference) < 0.05) return "the same";
  return fmt::format("{:.1f} % {}", std::abs(difference), difference > 0 ? "more" : "less");
}

std::string sentence_of_first(const SweepRow* row, const planner::Layout& first, const SweepRow& best) {
  const std::string name = planner::name_of(first);
  if (row == nullptr) return fmt::format("The plan's first choice, {}, was not run.", name);
  if (!row->measured) return fmt::format("The plan's first choice was {}, {}", name, outcome_of(*row));
  if (row->layout == best.layout) return "The plan named it first.";
  return fmt::format("The plan's first choice was {}: {} positions/s, {} than the best.", name,
                     tokens_per_second(row->measured->tokens_per_second),
                     compared(row->measured->tokens_per_second, best.measured->tokens_per_second));
}

}  // namespace

std::string sweep_table(const SweepRows& rows) {
  constexpr std::size_t most_measured = 40, most_others = 20;
  std::size_t measured = 0, others = 0;
  std::vector<Line> lines = {
      {"", "positions/s", "step", "plan", "memory", "plan", "resident", "communication", "bubble"}};
  for (const SweepRow& row : best_first(rows)) {
    if (row.measured ? ++measured > most_measured : ++others > most_others) continue;
    const std::string name = planner::name_of(row.layout);
    if (!row.measured) {
      lines.push_back({name, outcome_of(row)});
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
  if (measured > most_measured) text += fmt::format("{} slower ones are in summary.csv\n", measured - most_measured);
  if (others > most_others) text += fmt::format("{} more without a measurement, too\n", others - most_others);
  return text;
}

std::string dry_run_table(const std::vector<planner::Estimate>& estimates, const SweepStep& step) {
  std::vector<Line> lines = {{"", "positions/s", "step", "memory", "with program", "communication", "bubble"}};
  for (const planner::Estimate& e : estimates) {
    lines.push_back({planner::name_of(e.layout), tokens_per_second(e.tokens_per_second()),
                     base::format_duration(e.time.step), base::format_bytes(e.memory.at_once),
                     base::format_bytes(e.memory.total()), percent(e.time.share(e.time.communication())),
                     percent(e.time.share(e.time.bubble))});
  }
  return aligned(lines) + sweep_size(estimates, step) + "\n";
}

std::string sweep_size(const std::vector<planner::Estimate>& estimates, const SweepStep& step) {
  TimeLeft left(step.steps);
  for (const planner::Estimate& estimate : estimates) left.add(estimate.time.step);
  return fmt::format(
      "{} of {} a step, {} each: about {}", base::counted(static_cast<std::int64_t>(estimates.size()), "layout"),
      base::counted(step.samples, "sample"), base::counted(step.steps, "step"), base::format_duration(left.seconds(0)));
}

std::string sweep_conclusion(const SweepRows& rows, const planner::Layout& first) {
  const SweepRows ordered = best_first(rows);
  if (ordered.empty() || !ordered.front().measured) return "No layout was measured.";
  const SweepRow& best = ordered.front();
  const double step = best.measured->step_seconds, predicted = best.predicted.step_seconds;
  return fmt::format("The best is {}: {} positions/s, a step in {}; the plan said {}, {}.\n{}",
                     planner::name_of(best.layout), tokens_per_second(best.measured->tokens_per_second),
                     base::format_duration(step), base::format_duration(predicted), compared(predicted, step),
                     sentence_of_first(find_row(rows, first), first, best));
}

}  // namespace troika::sweep
