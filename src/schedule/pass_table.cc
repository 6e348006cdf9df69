#include "schedule/pass_table.h"

namespace troika::schedule {

PassTable::PassTable(const Program& program, int lane)
    : program_(program), first_slot_(static_cast<std::size_t>(program.stages())) {
  for (const int stage : stages_of_lane(program, lane)) {
    first_slot_[static_cast<std::size_t>(stage)] = slots_;
    slots_ += static_cast<std::size_t>(program.end_segment(stage) - program.first_segment(stage));
  }
  marks_.resize(slots_ * static_cast<std::size_t>(program.share_size()));
}

bool PassTable::all(Mark mark, int microbatch, int stage) const {
  for (int g = program_.first_segment(stage); g < program_.end_segment(stage); ++g) {
    if (!has(mark, microbatch, stage, g)) return false;
  }
  return true;
}

}  // namespace troika::schedule
