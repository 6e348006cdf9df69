#include "schedule/build/builder.h"

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "schedule/build/rank_builder.h"
#include "schedule/instruction/placement.h"

namespace troika::schedule {

using base::ConfigError;

namespace {

ScheduleDefinition definition_of(config::Schedule schedule) {
  switch (schedule) {
#define TROIKA_CASE(name, word) \
  case config::Schedule::name:  \
    return name();
    TROIKA_SCHEDULES(TROIKA_CASE)
#undef TROIKA_CASE
  }
  throw base::BugError("no such schedule");
}

void refuse_unfit(config::Schedule schedule, const StepShape& shape) {
  const auto stages = definition_of(schedule).stages;
  if (stages == ScheduleDefinition::Stages::one_per_rank && shape.virtual_stages != 1) {
    throw ConfigError(base::say("schedule {} has one stage per pp rank, not {}; choose schedule interleaved or virtual_stages 1", config::word_of(schedule), shape.virtual_stages));
  }
  if (stages == ScheduleDefinition::Stages::several_per_rank && (shape.virtual_stages < 2 || shape.pp < 2)) {
    throw ConfigError(base::say("schedule {} needs pp 2 or more and virtual_stages 2 or more, not {} and {}; use those or schedule 1f1b", config::word_of(schedule), shape.pp, shape.virtual_stages));
  }
}

void refuse_impossible(const StepShape& shape) {
  if (shape.pp < 1 || shape.dp < 1 || shape.virtual_stages < 1) {
    throw ConfigError(base::say("pp {}, dp {} and virtual_stages {} must be at least 1", shape.pp, shape.dp, shape.virtual_stages));
  }
  if (shape.microbatches < shape.dp || shape.microbatches % shape.dp != 0) {
    const int nearest = std::max(1, (shape.microbatches + shape.dp / 2) / shape.dp) * shape.dp;
    throw ConfigError(base::say("{} microbatches cannot be split evenly over dp {}; the nearest that works is {}", shape.microbatches, shape.dp, nearest));
  }
  const std::int64_t stages = shape.pp_rank_of_stage.empty()
                                  ? static_cast<std::int64_t>(shape.pp) * shape.virtual_stages
                                  : static_cast<std::int64_t>(shape.pp_rank_of_stage.size());
  if (stages > max_stages) throw ConfigError(base::say("{} stages are more than {}; lower pp", stages, max_stages));
}

}  // namespace

Program empty_program(const StepShape& shape) {
  refuse_impossible(shape);
  Program program;
  static_cast<ProgramShape&>(program) = shape;
  if (program.pp_rank_of_stage.empty()) {
    for (int s = 0; s < shape.pp * shape.virtual_stages; ++s) program.pp_rank_of_stage.push_back(s % shape.pp);
  }
  const base::Text wrong = wrong_sizes(program);
  if (!wrong.empty()) throw ConfigError(base::say("shape of a step: {}", wrong));
  if (!shape.segments.empty() && shape.segments.size() != static_cast<std::size_t>(program.segments())) {
    throw ConfigError(base::say("bytes are given for {} segments, but the stages have {}", shape.segments.size(), program.segments()));
  }
  program.ranks.resize(static_cast<std::size_t>(shape.pp) * static_cast<std::size_t>(shape.dp));
  return program;
}

Program build(config::Schedule schedule, const StepShape& shape) {
  Program program = empty_program(shape);
  refuse_unfit(schedule, shape);
  for (int pp_rank = 0; pp_rank < program.pp; ++pp_rank) {
    for (int dp_rank = 0; dp_rank < program.dp; ++dp_rank) {
      const Order order = definition_of(schedule).order(shape, pp_rank, program.share_size(dp_rank));
      const int rank = program.grid_rank(pp_rank, dp_rank);
      program.ranks[static_cast<std::size_t>(rank)] = instructions_of({program, shape, rank}, order);
    }
  }
  set_bytes(shape, &program);
  return program;
}

static std::int64_t bytes_of(const SegmentBytes& segment, Payload payload) {
  if (payload == Payload::segment_gradients) return segment.gradients_sent;
  if (payload == Payload::segment_totals) return segment.totals_sent;
  return payload == Payload::segment_parameters ? segment.parameters_sent : 0;
}

static std::int64_t bytes_of(const StepShape& shape, const Program& program, const Instruction& i) {
  const Payload payload = traits(i.kind).payload;
  if (is_message(i.kind)) return is_spare(program, shape.room, i.microbatch) ? 0 : shape.boundary_bytes;
  if (payload == Payload::tied_gradient) return shape.tied_bytes;
  if (payload == Payload::none || program.replicas == 1 || shape.segments.empty()) return 0;
  std::int64_t sum = 0;
  const auto [begin, end] = segments_of(program, i);
  for (int g = begin; g < end; ++g) sum += bytes_of(shape.segments[static_cast<std::size_t>(g)], payload);
  return sum;
}

void set_bytes(const StepShape& shape, Program* program) {
  for (auto& instructions : program->ranks) {
    for (Instruction& i : instructions) i.bytes = bytes_of(shape, *program, i);
  }
}

Bounds bounds(config::Schedule schedule, const StepShape& shape) {
  const Program program = empty_program(shape);
  refuse_unfit(schedule, shape);
  Bounds result;
  for (int pp_rank = 0; pp_rank < program.pp; ++pp_rank) {
    for (int dp_rank = 0; dp_rank < program.dp; ++dp_rank)
      result.max_in_flight.push_back(definition_of(schedule).in_flight(shape, pp_rank, program.share_size(dp_rank)));
  }
  return result;
}

// In groups of pp microbatches, each through all stages of the rank in order. Every rank follows the one order by
// group, stage and microbatch, in which whatever a forward needs is before it: so no placement of stages makes a
// deadlock.
static Order order_evaluation(const Program& program, int rank) {
  Order order;
  const int share = program.share_size(rank % program.dp);
  for (int begin = 0; begin < share; begin += program.pp) {
    for (const int stage : stages_of_rank(program, rank)) {
      for (int m = begin; m < std::min(begin + program.pp, share); ++m) order.push_back(pass(Kind::fwd, m, stage));
    }
  }
  return order;
}

Program build_evaluation(const StepShape& training) {
  StepShape shape = training;
  shape.recompute = config::Recompute::none;
  shape.offload = config::Offload::none;
  shape.first_trained = 0;
  shape.shares.clear();
  Program program = empty_program(shape);
  program.task = Task::evaluation;
  for (int rank = 0; rank < static_cast<int>(program.ranks.size()); ++rank)
    program.ranks[static_cast<std::size_t>(rank)] =
        instructions_of({program, shape, rank}, order_evaluation(program, rank));
  set_bytes(shape, &program);
  return program;
}

Bounds bounds_of_evaluation(const Program& program) {
  Bounds bounds;
  bounds.max_in_flight.assign(program.ranks.size(), 1);
  return bounds;
}

}  // namespace troika::schedule
