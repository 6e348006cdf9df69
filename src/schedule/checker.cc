#include "schedule/checker.h"

#include <algorithm>

#include "schedule/fault.h"
#include "schedule/in_flight.h"
#include "schedule/lane_check.h"
#include "schedule/simulator.h"

namespace troika::schedule {

namespace {

void check_frame(const Program& program) {
  const auto refuse = [](const std::string& reason) { throw base::BugError("step program: " + reason); };
  if (program.pp < 1 || program.dp < 1)
    refuse(fmt::format("pp {} and dp {} must be at least 1", program.pp, program.dp));
  if (program.microbatches < program.dp || program.microbatches % program.dp != 0) {
    refuse(fmt::format("{} microbatches do not divide over dp {}", program.microbatches, program.dp));
  }
  if (program.pp_rank_of_stage.empty()) refuse("it has no stages");
  for (const int rank : program.pp_rank_of_stage) {
    if (rank < 0 || rank >= program.pp)
      refuse(fmt::format("a stage sits on pp rank {}, which is not in 0..{}", rank, program.pp - 1));
  }
  const auto wanted = static_cast<std::size_t>(program.pp) * static_cast<std::size_t>(program.dp);
  if (program.lanes.size() != wanted)
    refuse(fmt::format("it has {} lanes instead of {}", program.lanes.size(), wanted));
}

void check_bounds(const Program& program, const Bounds& bounds) {
  const auto fits = [](std::size_t size, std::size_t wanted) { return size == 0 || size == wanted; };
  const auto stages = static_cast<std::size_t>(program.stages());
  if (fits(bounds.max_in_flight.size(), program.lanes.size()) && fits(bounds.saved_bytes.size(), stages) &&
      fits(bounds.kept_bytes.size(), stages)) {
    return;
  }
  throw base::BugError(fmt::format(
      "step program: bounds are for {} lanes and {} or {} stages, but the program has {} and {}",
      bounds.max_in_flight.size(), bounds.saved_bytes.size(), bounds.kept_bytes.size(), program.lanes.size(), stages));
}

void measure(const Program& program, const Bounds& bounds, std::size_t lane, Report* report) {
  InFlight in_flight(program, bounds, static_cast<int>(lane));
  for (std::size_t i = 0; i < program.lanes[lane].size(); ++i) {
    in_flight.visit(program.lanes[lane][i]);
    if (bounds.max_in_flight.empty() || in_flight.count() <= bounds.max_in_flight[lane]) continue;
    fault(program, lane, i,
          fmt::format("{} microbatches are in flight, but the schedule promises at most {}", in_flight.count(),
                      bounds.max_in_flight[lane]));
  }
  report->max_in_flight.push_back(in_flight.peak_count());
  report->peak_in_flight_bytes.push_back(in_flight.peak_bytes());
}

}  // namespace

Report check(const Program& program, const Bounds& bounds) {
  check_frame(program);
  check_bounds(program, bounds);
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) LaneCheck(program, static_cast<int>(lane)).run();
  simulate(program, CostModel{});  // pairs all messages and exchanges, and runs into every deadlock
  Report report;
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) measure(program, bounds, lane, &report);
  return report;
}

}  // namespace troika::schedule
