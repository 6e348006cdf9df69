#include "schedule/emit.h"

namespace troika::schedule {

Program build_gpipe(const PipelineShape& shape) {
  Program program = frame(shape);
  for (int stage = 0; stage < program.pp; ++stage) {
    for (int dp_rank = 0; dp_rank < program.dp; ++dp_rank) {
      std::vector<Instruction> order;
      for (const int m : share(program, dp_rank)) order.push_back(compute(Kind::fwd, m, stage));
      for (const int m : share(program, dp_rank)) order.push_back(compute(Kind::bwd, m, stage));
      const int lane = program.lane(stage, dp_rank);
      program.lanes[static_cast<std::size_t>(lane)] = emit_lane(program, shape, lane, order);
    }
  }
  return program;
}

}  // namespace troika::schedule
