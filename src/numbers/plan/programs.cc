#include "plan/programs.h"

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "plan/schedule_file.h"
#include "schedule/check/checker.h"

namespace troika::plan {
namespace {

void refuse_unnumbered(const schedule::Program& program) {
  if (program.microbatches <= most_microbatches && program.stages() <= most_stages) return;
  throw base::ConfigError(
      base::say("a step of {} microbatches in {} stages is too large: at most {} microbatches (a larger --micro-batch-size makes fewer) and {} stages (a smaller --pp or --virtual-stages)", program.microbatches, program.stages(), most_microbatches, most_stages));
}

// So few microbatches that they fit the samples, so many that the stages of a pipeline are busy.
std::int64_t evaluated_at_once(const Job& job, std::int64_t most_per_rank) {
  const std::int64_t dp = job.shape.dp, busy = job.shape.pp == 1 ? 4 : 4 * job.shape.pp;
  const std::int64_t all = (job.data.valid_samples - 1) / job.resolved.batch.micro + 1;
  return dp * std::min({(all - 1) / dp + 1, busy, most_per_rank});
}

}  // namespace

schedule::Program build_step_unchecked(const Job& job, const schedule::StepShape& shape) {
  schedule::Program program = schedule::build(job.settings().parallel.schedule, shape);
  refuse_unnumbered(program);
  return program;
}

schedule::Program build_step(const Job& job, const schedule::StepShape& shape) {
  schedule::Program program = build_step_unchecked(job, shape);
  schedule::check(program, schedule::bounds(job.settings().parallel.schedule, shape));
  return program;
}

schedule::Program complete_step(const Job& job, const schedule::StepShape& shape, schedule::Program written) {
  schedule::set_bytes(shape, &written);  // a file gives order and stages, the run what they move
  refuse_unnumbered(written);
  try {
    schedule::check(written, {});
  } catch (const base::BugError& error) {
    throw base::DataError(base::say("the schedule file '{}': {}", job.settings().parallel.schedule_file, base::text_of(error)));
  }
  return written;
}

schedule::Program build_evaluation(const Job& job, const schedule::StepShape& shape, std::int64_t most_per_rank) {
  schedule::StepShape round = shape;
  round.microbatches = static_cast<int>(evaluated_at_once(job, most_per_rank));
  schedule::Program program = schedule::build_evaluation(round);
  refuse_unnumbered(program);
  schedule::check(program, schedule::bounds_of_evaluation(program));
  return program;
}

}  // namespace troika::plan
