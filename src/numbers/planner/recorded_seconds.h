// What every instruction of a recorded step took its rank.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "plan/plan.h"
#include "schedule/trace/trace.h"

namespace troika::planner {

// Seconds of one run of an instruction on one rank.
struct Taken {
  double own = 0;     // the rank's time without waiting; of fetch and offload that copy in the background: the copy
  double inside = 0;  // what tp and cp peers exchange inside a pass
};

// By grid rank. A rank's time is shared out without a rest: what lies between two events, where transfers are started,
// counts with the instruction behind it, and what lies before a rank's first event with that. Of the ranks of a tp and cp
// group the mean; of an instruction that a program has several times the mean of those.
class RecordedSeconds {
 public:
  RecordedSeconds(const plan::Plan& plan, const schedule::StepTrace& trace);

  Taken of(int rank, const schedule::Instruction& i) const;  // nothing when it took none

 private:
  using Key = std::tuple<schedule::Kind, int, int, int>;
  static Key key_of(const schedule::Instruction& i) { return {i.kind, i.microbatch, i.stage, i.segment}; }
  void add(const plan::Plan& plan, const schedule::RankTimeline& timeline);

  std::vector<std::map<Key, Taken>> ranks_;
};

}  // namespace troika::planner
