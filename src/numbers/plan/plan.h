// Everything about a run that is known before it starts, each part made from those before it: the job, the stages, the
// programs, the memory of every rank. Alike on every rank, before any message.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/job.h"
#include "plan/memory.h"
#include "plan/programs.h"
#include "plan/stages.h"

namespace troika::plan {

struct Plan : Job {
  Stages stages;
  schedule::Program program;     // of a training step, or of an evaluation where nothing is trained; checked
  schedule::Program evaluation;  // beside training: of data.valid; no grid ranks without it; checked
  std::vector<Memory> memory;    // per grid rank: of its rank that needs most
};

// ConfigError for what does not fit together (vocabulary smaller than the tokenizer's, too little data, too many ranks);
// DataError for a schedule file that is wrong.
Plan make_plan(const config::Resolved& resolved, const DataFacts& data);

// The plan of an evaluation alone: `program` is that of one round over data.valid, of at most `most_per_rank`
// microbatches for each data-parallel rank. The schedule is ignored.
Plan make_evaluation_plan(const config::Resolved& resolved, const DataFacts& data, std::int64_t most_per_rank);
inline constexpr std::int64_t no_limit = 1 << 20;

}  // namespace troika::plan
