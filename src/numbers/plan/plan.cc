#include "plan/plan.h"

#include <optional>
#include <utility>

#include "plan/rank_memory.h"
#include "plan/saved_bytes.h"
#include "plan/schedule_file.h"
#include "plan/step_shape.h"

namespace troika::plan {
namespace {

Plan with_memory(Job job, Stages stages, Programs programs) {
  std::vector<Memory> memory = memory_of_grid_ranks(job, stages, programs);
  Plan plan{std::move(job), std::move(stages), std::move(programs.step), std::move(programs.evaluation),
            std::move(memory)};
  if (plan.trains() && plan.settings().checkpoint.async == config::OnOff::on) count_snapshots(&plan);
  return plan;
}

}  // namespace

Plan make_plan(const config::Resolved& resolved, const DataFacts& data) {
  const Job job = training_job(resolved, data);
  const std::string& file = job.settings().parallel.schedule_file;
  const std::optional<schedule::Program> written =
      file.empty() ? std::nullopt : std::make_optional(read_program(job, file));
  const Stages stages = written ? stages_of(*written) : cut_stages(job);
  const schedule::StepShape shape = step_shape(job, stages);
  Programs programs;
  programs.step = written ? complete_step(job, shape, *written) : build_step(job, shape);
  if (data.valid_samples > 0) programs.evaluation = build_evaluation(job, shape, no_limit);
  return with_memory(job, stages, std::move(programs));
}

Plan make_evaluation_plan(const config::Resolved& resolved, const DataFacts& data, std::int64_t most_per_rank) {
  const Job job = evaluation_job(resolved, data);
  const Stages stages = cut_stages(job);
  return with_memory(job, stages, {build_evaluation(job, step_shape(job, stages), most_per_rank), {}});
}

}  // namespace troika::plan
