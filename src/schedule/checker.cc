#include "schedule/checker.h"

#include "schedule/exchange_order.h"
#include "schedule/fault.h"
#include "schedule/in_flight.h"
#include "schedule/lane_check.h"
#include "schedule/simulator.h"
#include "schedule/sizes.h"

namespace troika::schedule {

namespace {

void check_bounds(const Program& program, const Bounds& bounds) {
  const auto fits = [](std::size_t size, std::size_t wanted) { return size == 0 || size == wanted; };
  const auto segments = static_cast<std::size_t>(program.segments());
  if (fits(bounds.max_in_flight.size(), program.lanes.size()) && fits(bounds.saved_bytes.size(), segments) &&
      fits(bounds.half_bytes.size(), segments) && fits(bounds.kept_bytes.size(), segments) &&
      fits(bounds.parameter_bytes.size(), segments)) {
    return;
  }
  throw base::BugError(
      fmt::format("step program: bounds are for {} lanes and {}, {}, {} and {} segments, but the program has {} and {}",
                  bounds.max_in_flight.size(), bounds.saved_bytes.size(), bounds.half_bytes.size(),
                  bounds.kept_bytes.size(), bounds.parameter_bytes.size(), program.lanes.size(), segments));
}

void measure(const Program& program, const Bounds& bounds, std::size_t lane, Report* report) {
  InFlight in_flight(program, bounds, static_cast<int>(lane));
  for (std::size_t i = 0; i < program.lanes[lane].size(); ++i) {
    in_flight.visit(program.lanes[lane][i]);
    if (bounds.max_in_flight.empty() || in_flight.peak_count() <= bounds.max_in_flight[lane]) continue;
    fault(program, lane, i,
          fmt::format("{} microbatches are in flight, but the schedule promises at most {}", in_flight.peak_count(),
                      bounds.max_in_flight[lane]));
  }
  report->max_in_flight.push_back(in_flight.peak_count());
  report->peak_activation_bytes.push_back(in_flight.peak_bytes());
  report->peak_gathered_bytes.push_back(in_flight.peak_gathered_bytes());
}

}  // namespace

Report check(const Program& program, const Bounds& bounds) {
  check_fields(program);
  check_bounds(program, bounds);
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) LaneCheck(program, static_cast<int>(lane)).run();
  simulate(program, CostModel{});  // pairs all messages and exchanges, and runs into every deadlock
  check_exchange_order(program);
  Report report;
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) measure(program, bounds, lane, &report);
  return report;
}

}  // namespace troika::schedule
