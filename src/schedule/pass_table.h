// What one lane has done with each microbatch and segment.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/border.h"
#include "schedule/instruction.h"

namespace troika::schedule {

// Marks per (microbatch of the lane's share, segment of the lane's stages). Instructions must have passed check_fields.
class PassTable {
 public:
  enum Mark : std::uint8_t { forward = 1, again = 2, input = 4, weight = 8, reduced = 16 };

  PassTable(const Program& program, int lane);

  bool has(Mark mark, int microbatch, int stage, int segment) const {
    return (marks_[at(microbatch, stage, segment)] & mark) != 0;
  }
  void set(Mark mark, int microbatch, int stage, int segment) { marks_[at(microbatch, stage, segment)] |= mark; }
  bool all(Mark mark, int microbatch, int stage) const;  // all segments of the stage

  // Numbers the lane's segments from 0.
  std::size_t slot(int stage, int segment) const {
    return first_slot_[static_cast<std::size_t>(stage)] +
           static_cast<std::size_t>(segment - program_.first_segment(stage));
  }
  std::size_t slots() const { return slots_; }

 private:
  std::size_t at(int microbatch, int stage, int segment) const {
    return static_cast<std::size_t>(program_.index_in_share(microbatch)) * slots_ + slot(stage, segment);
  }

  const Program& program_;
  std::vector<std::size_t> first_slot_;  // by stage
  std::size_t slots_ = 0;
  std::vector<std::uint8_t> marks_;
};

}  // namespace troika::schedule
