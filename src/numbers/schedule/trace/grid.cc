#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "base/say.h"
#include "base/units.h"
#include "schedule/simulate/simulator.h"
#include "schedule/trace/summary.h"

namespace troika::schedule {

namespace {

enum class Stage { hidden, shown };

std::string label(const Instruction& i, Stage stage) {
  const std::string text(1, traits(i.kind).letter);
  if (!is_computation(i.kind)) return text;
  return stage == Stage::shown ? fmt::format("{}{}.{}", text, i.microbatch, i.stage)
                               : text + std::to_string(i.microbatch);
}

// Stages are told apart where a rank has several.
Stage stages_in(const StepTrace& trace) {
  for (const RankTimeline& timeline : trace.ranks) {
    int stage = -1;
    for (const auto& event : timeline.events) {
      if (!is_computation(event.instruction.kind)) continue;
      if (stage >= 0 && event.instruction.stage != stage) return Stage::shown;
      stage = event.instruction.stage;
    }
  }
  return Stage::hidden;
}

struct Scale {
  double begin = 0, column_seconds = 1;
  std::size_t columns = 0, cell_width = 3;
  Stage stage = Stage::hidden;
};

double median_forward(const StepTrace& trace) {
  std::vector<double> durations;
  for (const RankTimeline& timeline : trace.ranks) {
    for (const auto& event : timeline.events) {
      const bool forward = event.activity == Event::Activity::compute && has_pass(event.instruction.kind, forward_pass);
      if (forward && event.end_seconds > event.begin_seconds)
        durations.push_back(event.end_seconds - event.begin_seconds);
    }
  }
  std::sort(durations.begin(), durations.end());
  return durations.empty() ? 0 : durations[durations.size() / 2];
}

std::string row_name(const RankTimeline& timeline) { return fmt::format("rank {} | ", timeline.world_rank); }

Scale choose_scale(const StepTrace& trace, int max_width) {
  Scale scale;
  scale.stage = stages_in(trace);
  double begin = 0, end = 0;
  bool first = true;
  std::size_t name_width = 0;
  for (const RankTimeline& timeline : trace.ranks) {
    name_width = std::max(name_width, row_name(timeline).size());
    for (const auto& event : timeline.events) {
      begin = first ? event.begin_seconds : std::min(begin, event.begin_seconds);
      end = first ? event.end_seconds : std::max(end, event.end_seconds);
      first = false;
      if (event.activity == Event::Activity::compute)
        scale.cell_width = std::max(scale.cell_width, label(event.instruction, scale.stage).size() + 1);
    }
  }
  const std::size_t available =
      std::max<std::size_t>(static_cast<std::size_t>(std::max(max_width, 0)), name_width + scale.cell_width) -
      name_width;
  const auto most = static_cast<double>(available / scale.cell_width);
  scale.begin = begin;
  scale.column_seconds = std::max(median_forward(trace), (end - begin) / most);
  if (scale.column_seconds <= 0) return scale;
  // A span that is a whole number of columns but for rounding must not get one more.
  scale.columns = static_cast<std::size_t>(std::ceil((end - begin) / scale.column_seconds - 1e-6));
  return scale;
}

// Seconds per label in each column of one rank, in the order in which they came.
using Shares = std::vector<std::pair<std::string, double>>;
using Cells = std::vector<Shares>;

void add(const std::string& what, double seconds, Shares* shares) {
  for (auto& [known, sum] : *shares) {
    if (known != what) continue;
    sum += seconds;
    return;
  }
  shares->emplace_back(what, seconds);
}

void fill(const Scale& scale, const std::string& what, double begin, double end, Cells* cells) {
  if (scale.columns == 0) return;  // a step without extent
  const double first = std::floor((begin - scale.begin) / scale.column_seconds);
  for (auto c = static_cast<std::size_t>(std::max(first, 0.0)); c < scale.columns; ++c) {
    const double left = scale.begin + static_cast<double>(c) * scale.column_seconds;
    if (left >= end) return;
    const double overlap = std::min(end, left + scale.column_seconds) - std::max(begin, left);
    if (overlap > 0) add(what, overlap, &(*cells)[c]);
  }
}

constexpr const char* under_way = "~";

// Prefers computations that no earlier cell of the row shows, so that columns longer than a forward hide none.
std::string cell(const Shares& shares, double seconds, std::set<std::string>* shown) {
  double idle = seconds;
  for (const auto& [what, busy] : shares) {
    if (what != under_way && busy >= 0.2 * seconds && shown->insert(what).second) return what;
    idle -= busy;
  }
  std::string best = ".";
  double most = std::max(idle, 0.0);
  for (const auto& [what, busy] : shares) {
    if (busy <= most * (1 + 1e-6)) continue;
    best = what;
    most = busy;
  }
  return best;
}

std::string row(const RankTimeline& timeline, const std::vector<Interval>& communication, const Scale& scale) {
  Cells cells(scale.columns);
  for (const auto& event : timeline.events) {
    if (event.activity == Event::Activity::compute)
      fill(scale, label(event.instruction, scale.stage), event.begin_seconds, event.end_seconds, &cells);
  }
  for (const auto& interval : communication) fill(scale, under_way, interval.begin, interval.end, &cells);
  std::string text;
  std::set<std::string> shown;
  for (const auto& shares : cells)
    text += fmt::format("{:<{}}", cell(shares, scale.column_seconds, &shown), scale.cell_width);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string rows(const StepTrace& trace, const Scale& scale) {
  const auto communication = communication_intervals(trace);
  std::size_t name_width = 0;
  for (const RankTimeline& timeline : trace.ranks) name_width = std::max(name_width, row_name(timeline).size());
  std::string text;
  for (std::size_t i = 0; i < trace.ranks.size(); ++i) {
    text +=
        fmt::format("{:>{}}{}\n", row_name(trace.ranks[i]), name_width, row(trace.ranks[i], communication[i], scale));
  }
  return text;
}

}  // namespace

std::string grid(const StepTrace& trace, int max_width, base::Language language) {
  const Scale scale = choose_scale(trace, max_width);
  return base::say("one column = {}\n", base::format_duration(scale.column_seconds)).in(language) + rows(trace, scale);
}

std::string grid(const Program& program) {
  const StepTrace trace = simulate(program, unit_costs());
  return rows(trace, choose_scale(trace, std::numeric_limits<int>::max()));
}

}  // namespace troika::schedule
