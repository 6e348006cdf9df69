// How much a lane holds between forwards and backwards; what check() reports and bounds.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "schedule/checker.h"
#include "schedule/instruction.h"

namespace troika::schedule {

// Follows one lane of a sound program. A microbatch counts from its first forward on a stage to the end of its last
// weight backward there; `offload` takes its bytes off, `fetch` puts them back.
class InFlight {
 public:
  InFlight(const Program& program, const Bounds& bounds, int lane);

  void visit(const Instruction& i);
  int count() const { return static_cast<int>(held_.size()); }
  int peak_count() const { return peak_count_; }
  std::int64_t peak_bytes() const { return peak_bytes_; }

 private:
  using Pair = std::pair<int, int>;  // (microbatch, stage)

  void hold(const Pair& pair, std::int64_t bytes);
  void release_buffer(Kind kind, const Pair& pair);
  void end_weight(const Pair& pair);

  const Bounds& bounds_;
  std::set<Pair> recomputed_;
  std::map<Pair, int> segments_left_;              // forwards whose weight backward has not come
  std::map<Pair, std::int64_t> held_, offloaded_;  // saved bytes
  std::map<std::pair<Kind, Pair>, std::int64_t> buffers_;
  std::int64_t bytes_ = 0, peak_bytes_ = 0;
  int peak_count_ = 0;
};

}  // namespace troika::schedule
