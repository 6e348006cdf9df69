#include "schedule/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "schedule/emit.h"

namespace troika::schedule {

namespace {

// One row per schedule. in_flight: microbatches of one share that a stage may hold between forward and backward.
struct Schedule {
  const char* name;
  Program (*build)(const PipelineShape&);
  int (*in_flight)(const PipelineShape&, int pp_rank);
};

int all_in_flight(const PipelineShape& shape, int) { return shape.microbatches / shape.dp; }
int in_flight_1f1b(const PipelineShape& shape, int pp_rank) {
  return std::min(shape.pp - pp_rank, all_in_flight(shape, pp_rank));
}

constexpr std::array<Schedule, 2> schedules = {{
    {"1f1b", build_1f1b, in_flight_1f1b},
    {"gpipe", build_gpipe, all_in_flight},
}};

const Schedule& find(const std::string& wanted) {
  for (const auto& schedule : schedules) {
    if (wanted == schedule.name) return schedule;
  }
  const std::string near = base::nearest(wanted, schedule_names());
  throw base::ConfigError(fmt::format("schedule '{}' does not exist; choose from {}{}", wanted,
                                      base::join(schedule_names(), ", "),
                                      near.empty() ? "" : " (nearest: " + near + ")"));
}

}  // namespace

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const auto& schedule : schedules) names.emplace_back(schedule.name);
  return names;
}

Program build(const std::string& schedule, const PipelineShape& shape) { return find(schedule).build(shape); }

Bounds bounds(const std::string& schedule, const PipelineShape& shape) {
  const Program program = frame(shape);
  Bounds result;
  for (int pp_rank = 0; pp_rank < program.pp; ++pp_rank) {
    for (int dp_rank = 0; dp_rank < program.dp; ++dp_rank)
      result.max_in_flight.push_back(find(schedule).in_flight(shape, pp_rank));
  }
  return result;
}

}  // namespace troika::schedule
