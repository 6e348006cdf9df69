// The program of an evaluation: forwards only.
#include <algorithm>

#include "base/error.h"
#include "schedule/border.h"
#include "schedule/emit.h"
#include "schedule/sizes.h"

namespace troika::schedule {

// In groups of pp microbatches, each through all stages of the lane in order. Every lane follows the one order by
// group, stage and microbatch, in which whatever a forward needs stands before it: so no placement of stages makes a
// deadlock.
static Order order_evaluation(const Program& program, int lane) {
  Order order;
  for (int begin = 0; begin < program.share_size(); begin += program.pp) {
    for (const int stage : stages_of_lane(program, lane)) {
      for (int m = begin; m < std::min(begin + program.pp, program.share_size()); ++m)
        order.push_back(pass(Kind::fwd, m, stage));
    }
  }
  return order;
}

Program build_evaluation(const StepShape& training) {
  StepShape shape = training;
  shape.recompute = Recompute::none;
  shape.offload = Offload::none;
  shape.first_trained = 0;
  Program program = frame(shape);
  program.task = Task::evaluation;
  for (int lane = 0; lane < static_cast<int>(program.lanes.size()); ++lane)
    program.lanes[static_cast<std::size_t>(lane)] = emit_lane({program, shape, lane}, order_evaluation(program, lane));
  return program;
}

Bounds bounds_of_evaluation(const Program& program) {
  Bounds bounds;
  bounds.max_in_flight.assign(program.lanes.size(), 1);
  return bounds;
}

}  // namespace troika::schedule
