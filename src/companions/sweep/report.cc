#include "sweep/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/say.h"
#include "base/units.h"
#include "planner/layout.h"

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
  if (row->layout == best.layout) return base::say("The plan ranked it first.");
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

constexpr std::size_t most_rows = 40;
constexpr double left = 16, bar_width = 640, first_row = 64, row_height = 58;  // pixels

constexpr const char* style =
    "text{font:13px system-ui,sans-serif;fill:#222}.title{font-size:16px;font-weight:600}"
    ".words{font-size:12px;fill:#666}.measured{fill:#1f6fb2}.predicted{fill:#bbb}"
    ".compute{fill:#2f75b5}.communication{fill:#7d68ad}.bubble{fill:#c47a1b}";

// `words`: ours, with nothing to escape.
std::string words_at(const char* kind, double x, double y, const std::string& words) {
  return fmt::format("<text class=\"{}\" x=\"{:g}\" y=\"{:g}\">{}</text>\n", kind, x, y, words);
}

std::string bar_at(const char* kind, double x, double y, double width, double height) {
  return fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:g}\" width=\"{:.2f}\" height=\"{:g}\"/>\n", kind, x, y,
                     width, height);
}

using Kinds = std::vector<const char*>;
using DrawRow = std::function<std::string(const SweepRow& row, double y)>;  // its bars at y, and words under them

std::string picture(const std::string& title, const Kinds& kinds, const SweepRows& rows, const DrawRow& draw) {
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\">\n"
      "<style>{2}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      2 * left + bar_width, first_row + row_height * static_cast<double>(rows.size()), style);
  text += words_at("title", left, 26, title);
  double x = left;
  for (const char* kind : kinds) {
    text += bar_at(kind, x, 39, 17, 8) + words_at("words", x + 23, 47, kind);
    x += 140;
  }
  double y = first_row;
  for (const SweepRow& row : rows) {
    text += words_at("name", left, y + 13, planner::name_of(row.layout)) + draw(row, y + 19);
    y += row_height;
  }
  return text + "</svg>\n";
}

using ValueOf = std::function<double(const SweepRow&)>;
using Shown = std::string (*)(std::int64_t);

std::string comparison(const std::string& title, const SweepRows& rows, const ValueOf& measured,
                       const ValueOf& predicted, Shown shown) {
  double most = 1e-300;
  for (const SweepRow& row : rows) most = std::max({most, measured(row), predicted(row)});
  return picture(title, {"measured", "predicted"}, rows, [&](const SweepRow& row, double y) {
    const double is = measured(row), was = predicted(row);
    return bar_at("measured", left, y, bar_width * is / most, 9) +
           bar_at("predicted", left, y + 10, bar_width * was / most, 5) +
           words_at("words", left, y + 28,
                    fmt::format("measured {}, predicted {}", shown(static_cast<std::int64_t>(is)),
                                shown(static_cast<std::int64_t>(was))));
  });
}

std::string shares_of_a_step(const SweepRow& row, double y) {
  const double communication = row.measured->communication_share, bubble = row.measured->bubble_share;
  const std::pair<const char*, double> parts[] = {{"compute", std::max(0.0, 1 - communication - bubble)},
                                                  {"communication", communication},
                                                  {"bubble", bubble}};
  std::string bars, words;
  double x = left;
  for (const auto& [kind, share] : parts) {
    bars += bar_at(kind, x, y, bar_width * share, 14);
    words += fmt::format("{}{} {:.1f} %", words.empty() ? "" : ", ", kind, 100 * share);
    x += bar_width * share;
  }
  return bars + words_at("words", left, y + 28, words);
}

SweepRows fastest_measured(const SweepRows& rows) {
  SweepRows ordered = best_first(rows);
  const auto end = std::find_if(ordered.begin(), ordered.end(), [](const SweepRow& row) { return !row.measured; });
  ordered.erase(end, ordered.end());
  if (ordered.size() > most_rows) ordered.resize(most_rows);
  return ordered;
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
  if (others > most_others) text += base::say("{} more without a measurement", others - most_others).in(language) + "\n";
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
  return base::say("{} with {} per step, {} each: about {}", base::counted_text(static_cast<std::int64_t>(estimates.size()), "layout"),
                   base::counted_text(step.samples, "sample"), base::counted_text(step.steps, "step"),
                   base::format_duration(left.seconds(0)));
}

base::Text sweep_conclusion(const SweepRows& rows, const planner::Layout& first) {
  const SweepRows ordered = best_first(rows);
  if (ordered.empty() || !ordered.front().measured) return base::say("No layout was measured.");
  const SweepRow& best = ordered.front();
  const double step = best.measured->step_seconds, predicted = best.predicted.step_seconds;
  return base::say("The best is {}: {} positions/s, a step in {}; the plan predicted {}, {}.\n{}", planner::name_of(best.layout),
                   tokens_per_second(best.measured->tokens_per_second), base::format_duration(step),
                   base::format_duration(predicted),
                   compared(base::Phrase("{} % more"), base::Phrase("{} % less"), base::Phrase("the same"), predicted, step),
                   sentence_of_first(find_row(rows, first), first, best));
}

void TimeLeft::begin(double predicted_step_seconds) {
  running_seconds_ = run_seconds(predicted_step_seconds);
  running_ = 1;
  waiting_seconds_ -= running_seconds_;
  --waiting_;
}

void TimeLeft::finished(const SweepRow& row) {
  running_ = 0;
  running_seconds_ = 0;
  if (!row.measured) return;
  beside_seconds_ += std::max(0.0, row.seconds - run_seconds(row.measured->step_seconds));
  ++measured_;
}

double TimeLeft::seconds(double of_the_running) const {
  const double running = running_ > 0 ? std::max(0.0, running_seconds_ + beside() - of_the_running) : 0;
  return running + std::max(0.0, waiting_seconds_) + waiting_ * beside();
}

std::string SweepProgress::head(std::size_t number, const std::string& name) const {
  return fmt::format("{}/{} {}:", number, layouts_, name);
}

void SweepProgress::preparing(const std::string& line) {
  if (style_ == metrics::ProgressStyle::none || line == prepared_ || line.empty()) return;
  prepared_ = line;
  line_.print(line);
}

void SweepProgress::running(std::size_t number, const std::string& name, double seconds_left) {
  if (style_ != metrics::ProgressStyle::bar) return;
  const double done = static_cast<double>(number - 1) / static_cast<double>(layouts_);
  line_.draw({head(number, name), done, {base::say("{} left", base::format_duration(seconds_left)).in(language_)}});
}

void SweepProgress::finished(std::size_t number, const SweepRow& row, double seconds_left) {
  const bool lines = style_ == metrics::ProgressStyle::lines;
  if (!lines && (row.measured || style_ == metrics::ProgressStyle::none)) return;
  const std::string line = head(number, planner::name_of(row.layout)) + " " + outcome_of(row).in(language_);
  const bool more = lines && number < layouts_;
  line_.print(more ? base::say("{}; {} left", line, base::format_duration(seconds_left)).in(language_) : line);
}

base::Text outcome_of(const SweepRow& row) {
  if (!row.measured) {
    switch (row.status) {
      case SweepStatus::timeout:
        return base::say("timeout: {}", row.reason);
      case SweepStatus::interrupted:
        return base::say("interrupted: {}", row.reason);
      default:
        return base::say("failed: {}", row.reason);
    }
  }
  return base::say("{} a step, {} positions/s (plan {})", base::format_duration(row.measured->step_seconds),
                     base::format_count(std::llround(row.measured->tokens_per_second)),
                     base::format_duration(row.predicted.step_seconds));
}

std::map<std::string, std::string> sweep_plots(const SweepRows& rows, const SweepStep& step) {
  const SweepRows shown = fastest_measured(rows);
  if (shown.empty()) return {};
  const auto predicted_speed = [&](const SweepRow& row) {
    const double seconds = row.predicted.step_seconds;
    return seconds > 0 ? static_cast<double>(step.tokens) / seconds : 0;
  };
  return {{"throughput",
           comparison("Positions per second", shown,
                      [](const SweepRow& row) { return row.measured->tokens_per_second; }, predicted_speed,
                      base::format_count)},
          {"memory", comparison("Memory of the rank that holds most", shown,
                                [](const SweepRow& row) { return static_cast<double>(row.measured->memory_bytes); },
                                [](const SweepRow& row) { return static_cast<double>(row.predicted.memory_bytes); },
                                base::format_bytes)},
          {"shares", picture("Where the time of a step goes", {"compute", "communication", "bubble"}, shown,
                             shares_of_a_step)}};
}

}  // namespace troika::sweep
