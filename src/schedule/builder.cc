#include "schedule/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "schedule/emit.h"
#include "schedule/orders.h"

namespace troika::schedule {

namespace {

enum class Stages { one_per_rank, several_per_rank };

// One row per schedule. in_flight: microbatches (of each stage) that a rank may hold between forward and backward, of
// `count` in the share.
struct Schedule {
  const char* name;
  Stages stages;
  Order (*order)(const StepShape&, int pp_rank, int count);
  int (*in_flight)(const StepShape&, int pp_rank, int count);
};

int all_in_flight(const StepShape&, int, int count) { return count; }
int in_flight_1f1b(const StepShape& shape, int pp_rank, int count) { return std::min(shape.pp - pp_rank, count); }
int in_flight_interleaved(const StepShape& shape, int pp_rank, int count) {
  return std::min(warm_up_interleaved(shape, pp_rank) + 1, shape.virtual_stages * count);
}
int in_flight_zb_h1(const StepShape& shape, int, int count) { return std::min(shape.pp, count); }

constexpr std::array<Schedule, 4> schedules = {{
    {"1f1b", Stages::one_per_rank, order_1f1b, in_flight_1f1b},
    {"gpipe", Stages::one_per_rank, order_gpipe, all_in_flight},
    {"interleaved", Stages::several_per_rank, order_interleaved, in_flight_interleaved},
    {"zb-h1", Stages::one_per_rank, order_zb_h1, in_flight_zb_h1},
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

void refuse_unfit(const Schedule& schedule, const StepShape& shape) {
  if (schedule.stages == Stages::one_per_rank && shape.virtual_stages != 1) {
    throw base::ConfigError(
        fmt::format("schedule {} has one stage per pp rank, not {}; choose schedule interleaved or "
                    "virtual_stages 1",
                    schedule.name, shape.virtual_stages));
  }
  if (schedule.stages == Stages::several_per_rank && (shape.virtual_stages < 2 || shape.pp < 2)) {
    throw base::ConfigError(
        fmt::format("schedule {} needs pp 2 or more and virtual_stages 2 or more, not {} and {}; "
                    "choose those or schedule 1f1b",
                    schedule.name, shape.pp, shape.virtual_stages));
  }
}

}  // namespace

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const auto& schedule : schedules) names.emplace_back(schedule.name);
  return names;
}

Program build(const std::string& name, const StepShape& shape) {
  const Schedule& schedule = find(name);
  Program program = frame(shape);
  refuse_unfit(schedule, shape);
  for (int pp_rank = 0; pp_rank < program.pp; ++pp_rank) {
    const Order order = schedule.order(shape, pp_rank, program.share_size());
    for (int dp_rank = 0; dp_rank < program.dp; ++dp_rank) {
      const int lane = program.lane(pp_rank, dp_rank);
      program.lanes[static_cast<std::size_t>(lane)] = emit_lane({program, shape, lane}, order);
    }
  }
  return program;
}

Bounds bounds(const std::string& name, const StepShape& shape) {
  const Schedule& schedule = find(name);
  const Program program = frame(shape);
  refuse_unfit(schedule, shape);
  Bounds result;
  for (int pp_rank = 0; pp_rank < program.pp; ++pp_rank) {
    for (int dp_rank = 0; dp_rank < program.dp; ++dp_rank)
      result.max_in_flight.push_back(schedule.in_flight(shape, pp_rank, program.share_size()));
  }
  return result;
}

}  // namespace troika::schedule
