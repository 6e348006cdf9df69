#include <algorithm>

#include "schedule/emit.h"

namespace troika::schedule {

Program build_1f1b(const PipelineShape& shape) {
  Program program = frame(shape);
  for (int stage = 0; stage < program.pp; ++stage) {
    for (int dp_rank = 0; dp_rank < program.dp; ++dp_rank) {
      const auto microbatches = share(program, dp_rank);
      const auto warm_up = std::min(static_cast<std::size_t>(program.pp - 1 - stage), microbatches.size());
      std::vector<Instruction> order;
      for (std::size_t i = 0; i < microbatches.size() + warm_up; ++i) {
        if (i < microbatches.size()) order.push_back(compute(Kind::fwd, microbatches[i], stage));
        if (i >= warm_up) order.push_back(compute(Kind::bwd, microbatches[i - warm_up], stage));
      }
      const int lane = program.lane(stage, dp_rank);
      program.lanes[static_cast<std::size_t>(lane)] = emit_lane(program, shape, lane, order);
    }
  }
  return program;
}

}  // namespace troika::schedule
