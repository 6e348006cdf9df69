// The time a program takes, without running it.
#pragma once

#include <optional>

#include "schedule/instruction/program.h"
#include "schedule/simulate/cost_model.h"
#include "schedule/trace/trace.h"

namespace troika::schedule {

// Deterministic and event-driven, by the waiting rules of checker.h. Every rank has one outgoing link for messages and
// exchanges alike, which serve one after the other: a message starts when both ends have posted and the sender's link
// is free, occupies it for bytes/bytes_per_second and arrives latency_seconds later; an exchange starts when all ranks
// have come and all their links are free, and occupies them to its end. Only blocking exchanges (kinds.h) stop their
// ranks meanwhile. Computations of ranks that share processors share them evenly (cost_model.h).
//
// The trace has, per rank, `compute` for every instruction that computes, `wait` where the rank waited (named
// after the instruction that waited; at the end of the rank after what completes last), and `transfer` from the start
// of a message, exchange or copy to its completion. world_rank = rank; the first event begins at 0. BugError names the
// ranks and instructions of a deadlock, what has no partner, and what check_fields refuses (well_formed.h).
StepTrace simulate(const Program& program, const CostModel& costs);

// Nothing, and as soon as that is certain, when the step takes longer than `most_seconds`.
std::optional<StepTrace> simulate_within(const Program& program, const CostModel& costs, double most_seconds);

}  // namespace troika::schedule
