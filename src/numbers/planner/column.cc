#include "planner/column.h"

#include <utility>

#include "plan/programs.h"
#include "plan/step_shape.h"

namespace troika::planner {

int Column::world_rank_of(int grid_rank) const {
  const int inside = job.shape.tp * job.shape.cp;
  return grid_rank * inside * (pipelines == Pipelines::whole ? 1 : job.shape.dp);
}

Column make_column(plan::Job job, Pipelines pipelines) {
  plan::Stages stages = plan::cut_stages(job);
  return make_column(std::move(job), std::move(stages), pipelines);
}

Column make_column(plan::Job job, plan::Stages stages, Pipelines pipelines) {
  const schedule::StepShape shape =
      pipelines == Pipelines::whole ? plan::step_shape(job, stages) : plan::pipeline_shape(job, stages);
  schedule::Program program = plan::build_step_unchecked(job, shape);
  return {std::move(job), std::move(stages), std::move(program), pipelines};
}

}  // namespace troika::planner
