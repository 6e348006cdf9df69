#include "schedule/check/checker.h"

#include "schedule/check/errors.h"
#include "schedule/check/in_flight.h"
#include "schedule/check/rank_check.h"
#include "schedule/check/well_formed.h"
#include "schedule/simulate/simulator.h"

namespace troika::schedule {

namespace {

void check_bounds(const Program& program, const Bounds& bounds) {
  const auto fits = [](std::size_t size, std::size_t wanted) { return size == 0 || size == wanted; };
  const auto segments = static_cast<std::size_t>(program.segments());
  if (fits(bounds.max_in_flight.size(), program.ranks.size()) && fits(bounds.saved_bytes.size(), segments) &&
      fits(bounds.half_bytes.size(), segments) && fits(bounds.kept_bytes.size(), segments) &&
      fits(bounds.parameter_bytes.size(), segments)) {
    return;
  }
  throw base::BugError(
      fmt::format("step program: bounds are for {} ranks and {}, {}, {} and {} segments, but the program has {} and {}",
                  bounds.max_in_flight.size(), bounds.saved_bytes.size(), bounds.half_bytes.size(),
                  bounds.kept_bytes.size(), bounds.parameter_bytes.size(), program.ranks.size(), segments));
}

void measure(const Program& program, const Bounds& bounds, std::size_t rank, Report* report) {
  InFlight in_flight(program, bounds, static_cast<int>(rank));
  for (std::size_t i = 0; i < program.ranks[rank].size(); ++i) {
    in_flight.visit(program.ranks[rank][i]);
    if (bounds.max_in_flight.empty() || in_flight.peak_count() <= bounds.max_in_flight[rank]) continue;
    refuse_at(program, rank, i,
              fmt::format("{} microbatches are in flight, but the schedule promises at most {}", in_flight.peak_count(),
                          bounds.max_in_flight[rank]));
  }
  report->max_in_flight.push_back(in_flight.peak_count());
  report->peak_activation_bytes.push_back(in_flight.peak_bytes());
  report->peak_gathered_bytes.push_back(in_flight.peak_gathered_bytes());
}

std::vector<std::size_t> exchanges_of(const std::vector<Instruction>& rank) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rank.size(); ++i) {
    if (traits(rank[i].kind).peers == Peers::replicas) places.push_back(i);
  }
  return places;
}

bool may_meet(const Instruction& a, const Instruction& b) {
  return (a.microbatch < 0) == (b.microbatch < 0) && a.kind == b.kind && a.stage == b.stage && a.segment == b.segment;
}

void compare_exchanges(const Program& program, std::size_t first, std::size_t rank) {
  const auto theirs = exchanges_of(program.ranks[first]), mine = exchanges_of(program.ranks[rank]);
  for (std::size_t k = 0; k < mine.size(); ++k) {
    const Instruction& other = program.ranks[first][theirs[k]];
    if (may_meet(other, program.ranks[rank][mine[k]])) continue;
    refuse_at(
        program, rank, mine[k],
        fmt::format("comes where grid rank {} has '{}'; exchanges must come in one order", first, to_text(other)));
  }
}

// Replicas talk over one channel, where what is started first meets what is started first.
void check_exchange_order(const Program& program) {
  const auto dp = static_cast<std::size_t>(program.dp);
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    if (rank % dp != 0) compare_exchanges(program, rank - rank % dp, rank);
  }
}

}  // namespace

Report check(const Program& program, const Bounds& bounds) {
  check_fields(program);
  check_bounds(program, bounds);
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) RankCheck(program, static_cast<int>(rank)).run();
  simulate(program, CostModel{});  // pairs all messages and exchanges, and runs into every deadlock
  check_exchange_order(program);
  Report report;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) measure(program, bounds, rank, &report);
  return report;
}

}  // namespace troika::schedule
