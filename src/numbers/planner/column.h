// What a search simulates: the step program of a layout, whole or one of its equal pipelines.
#pragma once

#include "plan/job.h"
#include "plan/stages.h"
#include "schedule/instruction/program.h"

namespace troika::planner {

// whole: a grid rank of the program for every pp and dp rank. one: of the first data-parallel rank alone; its exchanges among
// replicas have the bytes and peers of all of them. Equal pipelines do the same at the same time, so one tells the step.
enum class Pipelines { whole, one };

struct Column {
  plan::Job job;
  plan::Stages stages;
  schedule::Program program;  // of Pipelines::one with dp 1 and all replicas
  Pipelines pipelines = Pipelines::one;

  // The first world rank of a grid rank of the program.
  int world_rank_of(int grid_rank) const;
  mesh::Coordinate coordinate_of(int grid_rank) const {
    return mesh::coordinate_of(job.shape, world_rank_of(grid_rank));
  }
};

// ConfigError for what the layout does not allow. The program is not checked: whoever runs it does that.
Column make_column(plan::Job job, Pipelines pipelines);
// With stages that were cut for such a job before.
Column make_column(plan::Job job, plan::Stages stages, Pipelines pipelines);

}  // namespace troika::planner
