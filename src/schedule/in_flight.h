// How much a lane holds between forwards and backwards; what check() reports and bounds.
#pragma once

#include <map>
#include <utility>

#include "schedule/checker.h"
#include "schedule/instruction.h"
#include "schedule/pass_table.h"

namespace troika::schedule {

// Follows one lane of a sound program. A microbatch counts from its first forward on a stage to the end of its last
// weight backward there; a segment's bytes live from its forward to its weight backward.
class InFlight {
 public:
  InFlight(const Program& program, const Bounds& bounds, int lane);

  void visit(const Instruction& i);
  int count() const { return static_cast<int>(segments_left_.size()); }
  int peak_count() const { return peak_count_; }
  std::int64_t peak_bytes() const { return peak_bytes_; }
  std::int64_t peak_gathered_bytes() const { return peak_gathered_bytes_; }

 private:
  using Pair = std::pair<int, int>;  // (microbatch, stage) or (microbatch, segment)

  void begin(const Instruction& i);  // its result is there, its input still too
  void end(const Instruction& i);
  void hold(const Pair& pair, std::int64_t bytes);
  void count_gathered(const Instruction& i);
  void release_buffer(Kind kind, const Instruction& i);
  void end_weight(const Instruction& i, int segment);

  const Program& program_;
  const Bounds& bounds_;
  PassTable table_;                    // marks what will be recomputed
  std::map<Pair, int> segments_left_;  // by (microbatch, stage): segments whose weight backward has not come
  std::map<Pair, std::int64_t> held_;  // by (microbatch, segment)
  std::map<std::pair<Kind, Pair>, std::int64_t> buffers_;
  std::int64_t bytes_ = 0, peak_bytes_ = 0, gathered_bytes_ = 0, peak_gathered_bytes_ = 0;
  int peak_count_ = 0;
};

}  // namespace troika::schedule
