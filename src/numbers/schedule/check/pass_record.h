// The work of one rank on each microbatch and segment, and the check of it.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/instruction/placement.h"

namespace troika::schedule {

// Passes done per (microbatch of the rank's share, segment of the rank's stages), and whether the microbatch's gradient
// of the segment is reduced. Instructions must have passed check_fields.
class PassRecord {
 public:
  static constexpr std::uint8_t reduced = 16;  // beside the bits of Pass

  PassRecord(const Program& program, int rank)
      : program_(program), first_slot_(static_cast<std::size_t>(program.stages())) {
    for (const int stage : stages_of_rank(program, rank)) {
      first_slot_[static_cast<std::size_t>(stage)] = slots_;
      slots_ += static_cast<std::size_t>(program.end_segment(stage) - program.first_segment(stage));
    }
    done_.resize(slots_ * static_cast<std::size_t>(program.share_size(rank % program.dp)));
  }

  bool has(std::uint8_t mark, int microbatch, int stage, int segment) const {
    return (done_[at(microbatch, stage, segment)] & mark) != 0;
  }
  void set(std::uint8_t mark, int microbatch, int stage, int segment) { done_[at(microbatch, stage, segment)] |= mark; }
  bool all(std::uint8_t mark, int microbatch, int stage) const {  // all segments of the stage
    for (int g = program_.first_segment(stage); g < program_.end_segment(stage); ++g) {
      if (!has(mark, microbatch, stage, g)) return false;
    }
    return true;
  }

  // Numbers the rank's segments from 0.
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
  std::vector<std::uint8_t> done_;
};

// Walks one rank of a program that passed check_fields and refuses (UnsoundProgram) what appears twice, too early, or not at all.
void check_rank(const Program& program, int rank);

}  // namespace troika::schedule
