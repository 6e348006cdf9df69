// What an instruction of a plan computes and sends, in units that times are made of: pure counting, no speeds.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace troika::plan {

// Of every segment, as shape::segment_costs has them, for the sequences of this plan.
std::vector<double> segment_costs(const Plan& plan);

// The part of a segment's cost that a kind takes, where a forward and a whole backward are 1 each.
double part_in_pass(const Plan& plan, schedule::Kind kind, int segment);

// What one rank of the tp and cp group computes of one microbatch; `costs`: segment_costs(plan).
double units_of(const Plan& plan, const std::vector<double>& costs, const schedule::Instruction& i);

// Of the segments that an instruction means: how many have gradients and an optimizer on one rank of the tp group.
double trained_elements(const Plan& plan, const schedule::Instruction& i);

// Losses, counts and squared norms of a step, to every other rank, 8 bytes each.
double norm_bytes(const Plan& plan);

}  // namespace troika::plan
