#include "schedule/trace/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/units.h"
#include "schedule/trace/communication.h"

namespace troika::schedule {

namespace {

bool in_pipeline(Kind kind) {
  return traits(kind).part == Part::pipeline || traits(kind).part == Part::pipeline_or_update;
}

struct Extent {
  double begin = std::numeric_limits<double>::infinity();
  double end = -std::numeric_limits<double>::infinity();

  void include(const Event& event) {
    begin = std::min(begin, event.begin_seconds);
    end = std::max(end, event.end_seconds);
  }
  double seconds() const { return std::max(0.0, end - begin); }
  double inside(double from, double to) const { return std::max(0.0, std::min(to, end) - std::max(from, begin)); }
};

void extents(const StepTrace& trace, Extent* step, Extent* window) {
  for (const RankTimeline& timeline : trace.ranks) {
    for (const Event& event : timeline.events) {
      step->include(event);
      if (event.activity == Event::Activity::compute && is_computation(event.instruction.kind)) window->include(event);
    }
  }
}

RankSummary summarize_rank(const RankTimeline& timeline, const std::vector<Interval>& communication, const Extent& step,
                           const Extent& window) {
  RankSummary out{timeline.grid_rank, timeline.world_rank, timeline.host, {}, 0};
  out.time.span_seconds = step.seconds();
  double busy = 0;  // in the pipeline window
  for (const Event& event : timeline.events) {
    if (event.activity != Event::Activity::compute) continue;
    out.time.compute_seconds += event.end_seconds - event.begin_seconds;
    if (in_pipeline(event.instruction.kind)) busy += window.inside(event.begin_seconds, event.end_seconds);
  }
  for (const Interval& interval : communication) {
    out.time.communication_seconds += interval.end - interval.begin;
    busy += window.inside(interval.begin, interval.end);
  }
  const auto& time = out.time;
  out.time.bubble_seconds = std::max(0.0, time.span_seconds - time.compute_seconds - time.communication_seconds);
  if (window.seconds() > 0) out.pipeline_bubble_share = std::max(0.0, 1 - busy / window.seconds());
  return out;
}

}  // namespace

StepSummary summarize(const StepTrace& trace) {
  Extent step, window;
  extents(trace, &step, &window);
  const auto communication = communication_intervals(trace);
  StepSummary summary;
  summary.step_seconds = step.seconds();
  summary.window_seconds = window.seconds();
  for (std::size_t i = 0; i < trace.ranks.size(); ++i) {
    summary.ranks.push_back(summarize_rank(trace.ranks[i], communication[i], step, window));
    const RankSummary& rank = summary.ranks.back();
    summary.total.span_seconds += rank.time.span_seconds;
    summary.total.compute_seconds += rank.time.compute_seconds;
    summary.total.communication_seconds += rank.time.communication_seconds;
    summary.total.bubble_seconds += rank.time.bubble_seconds;
    summary.pipeline_bubble_share += rank.pipeline_bubble_share / static_cast<double>(trace.ranks.size());
  }
  return summary;
}

static std::string row(const std::string& who, const std::string& host, const TimeShares& time) {
  const auto cell = [&](double seconds) {
    return fmt::format("{:>8} {:>5.1f}%", base::format_duration(seconds), 100 * time.share(seconds));
  };
  return fmt::format("{:<8} {:<16} {:>16} {:>16} {:>16}\n", who, host, cell(time.compute_seconds),
                     cell(time.communication_seconds), cell(time.bubble_seconds));
}

std::string to_text(const StepSummary& summary) {
  std::string text =
      fmt::format("{:<8} {:<16} {:>16} {:>16} {:>16}\n", "", "host", "compute", "communication", "bubble");
  for (const RankSummary& rank : summary.ranks)
    text += row(fmt::format("rank {}", rank.world_rank), rank.host, rank.time);
  text += row("all", "", summary.total);
  text +=
      fmt::format("step {}, pipeline part {}, pipeline bubble {:.1f}%\n", base::format_duration(summary.step_seconds),
                  base::format_duration(summary.window_seconds), 100 * summary.pipeline_bubble_share);
  return text;
}

}  // namespace troika::schedule
