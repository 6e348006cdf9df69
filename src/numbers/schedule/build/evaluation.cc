// The program of an evaluation: forwards only.
#include <algorithm>

#include "base/error.h"
#include "schedule/build/rank_builder.h"
#include "schedule/instruction/placement.h"

namespace troika::schedule {

// In groups of pp microbatches, each through all stages of the rank in order. Every rank follows the one order by
// group, stage and microbatch, in which whatever a forward needs is before it: so no placement of stages makes a
// deadlock.
static Order order_evaluation(const Program& program, int rank) {
  Order order;
  const int share = program.share_size(rank % program.dp);
  for (int begin = 0; begin < share; begin += program.pp) {
    for (const int stage : stages_of_rank(program, rank)) {
      for (int m = begin; m < std::min(begin + program.pp, share); ++m) order.push_back(pass(Kind::fwd, m, stage));
    }
  }
  return order;
}

Program build_evaluation(const StepShape& training) {
  StepShape shape = training;
  shape.recompute = Recompute::none;
  shape.offload = Offload::none;
  shape.first_trained = 0;
  shape.shares.clear();
  Program program = empty_program(shape);
  program.task = Task::evaluation;
  for (int rank = 0; rank < static_cast<int>(program.ranks.size()); ++rank)
    program.ranks[static_cast<std::size_t>(rank)] =
        instructions_of({program, shape, rank}, order_evaluation(program, rank));
  set_bytes(shape, &program);
  return program;
}

Bounds bounds_of_evaluation(const Program& program) {
  Bounds bounds;
  bounds.max_in_flight.assign(program.ranks.size(), 1);
  return bounds;
}

}  // namespace troika::schedule
