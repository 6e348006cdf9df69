// What a run left of itself that a step can be replayed from.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"
#include "plan/plan.h"
#include "schedule/trace/trace.h"

namespace troika::planner {

struct Recording {
  plan::Plan plan;                         // of the run, with the very program that it ran
  std::vector<schedule::StepTrace> steps;  // of that program, ascending; every rank is in them
  std::vector<std::string> hosts;          // by their first rank
  std::vector<int> host_of_rank;           // of each grid rank, an index into hosts
  std::vector<base::Text> notes;           // sentences about steps that were left out

  int ranks_on(int host) const;  // grid ranks
};

// Reads RUN/timeline, RUN/config.yaml and RUN/program.txt, or config-2.yaml and so on of the attempt that the newest step
// belongs to. Left out, where others remain: the first step of training, steps that ran their program more than once, and
// steps of another program. ConfigError when there is no such run or it recorded no step; DataError for a timeline that is
// empty, damaged or lacks ranks, and for settings or a program that are missing or of another run.
Recording read_recording(const std::string& run);

}  // namespace troika::planner
