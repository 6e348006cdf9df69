#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "schedule/emit.h"
#include "schedule/sizes.h"

namespace troika::schedule {

using base::ConfigError;

static void refuse_impossible(const StepShape& shape) {
  if (shape.pp < 1 || shape.dp < 1 || shape.virtual_stages < 1) {
    throw ConfigError(
        fmt::format("pp {}, dp {} and virtual_stages {} must be at least 1", shape.pp, shape.dp, shape.virtual_stages));
  }
  if (shape.microbatches < shape.dp || shape.microbatches % shape.dp != 0) {
    const int nearest = std::max(1, (shape.microbatches + shape.dp / 2) / shape.dp) * shape.dp;
    throw ConfigError(fmt::format("{} microbatches cannot be shared evenly by dp {}; nearest that works is {}",
                                  shape.microbatches, shape.dp, nearest));
  }
  const std::int64_t stages = shape.pp_rank_of_stage.empty()
                                  ? static_cast<std::int64_t>(shape.pp) * shape.virtual_stages
                                  : static_cast<std::int64_t>(shape.pp_rank_of_stage.size());
  if (stages > max_stages) throw ConfigError(fmt::format("{} stages are more than {}; lower pp", stages, max_stages));
}

Program frame(const StepShape& shape) {
  refuse_impossible(shape);
  Program program;
  program.pp = shape.pp;
  program.dp = shape.dp;
  program.replicas = shape.replicas;
  program.zero = shape.zero;
  program.microbatches = shape.microbatches;
  program.tied = shape.tied;
  program.first_trained = shape.first_trained;
  program.all_load = shape.all_load;
  program.segment_begin = shape.segment_begin;
  program.pp_rank_of_stage = shape.pp_rank_of_stage;
  if (program.pp_rank_of_stage.empty()) {
    for (int s = 0; s < shape.pp * shape.virtual_stages; ++s) program.pp_rank_of_stage.push_back(s % shape.pp);
  }
  const std::string wrong = wrong_sizes(program);
  if (!wrong.empty()) throw ConfigError("shape of a step: " + wrong);
  if (!shape.segments.empty() && shape.segments.size() != static_cast<std::size_t>(program.segments())) {
    throw ConfigError(fmt::format("bytes are given for {} segments, but the stages have {}", shape.segments.size(),
                                  program.segments()));
  }
  program.lanes.resize(static_cast<std::size_t>(shape.pp) * static_cast<std::size_t>(shape.dp));
  return program;
}

}  // namespace troika::schedule
