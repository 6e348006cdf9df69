#include "schedule/emit.h"

#include <fmt/format.h>

#include <numeric>
#include <optional>
#include <set>

#include "base/error.h"
#include "schedule/border.h"

namespace troika::schedule {

static void refuse_impossible(const PipelineShape& shape) {
  using base::ConfigError;
  if (shape.pp < 1 || shape.dp < 1)
    throw ConfigError(fmt::format("pp {} and dp {} must be at least 1", shape.pp, shape.dp));
  if (shape.microbatches < shape.dp || shape.microbatches % shape.dp != 0) {
    const int nearest = std::max(1, (shape.microbatches + shape.dp / 2) / shape.dp) * shape.dp;
    throw ConfigError(fmt::format("{} microbatches cannot be shared evenly by dp {}; nearest that works is {}",
                                  shape.microbatches, shape.dp, nearest));
  }
  if (!shape.gradient_bytes.empty() && shape.gradient_bytes.size() != static_cast<std::size_t>(shape.pp)) {
    throw ConfigError(
        fmt::format("gradient bytes are given for {} stages, but pp is {}", shape.gradient_bytes.size(), shape.pp));
  }
}

Program frame(const PipelineShape& shape) {
  refuse_impossible(shape);
  Program program;
  program.pp = shape.pp;
  program.dp = shape.dp;
  program.microbatches = shape.microbatches;
  program.tied = shape.tied;
  program.pp_rank_of_stage.resize(static_cast<std::size_t>(shape.pp));
  std::iota(program.pp_rank_of_stage.begin(), program.pp_rank_of_stage.end(), 0);
  program.lanes.resize(static_cast<std::size_t>(shape.pp) * static_cast<std::size_t>(shape.dp));
  return program;
}

std::vector<int> share(const Program& program, int dp_rank) {
  const int count = program.microbatches / program.dp;
  std::vector<int> microbatches(static_cast<std::size_t>(count));
  std::iota(microbatches.begin(), microbatches.end(), dp_rank * count);
  return microbatches;
}

namespace {

// The message a computation needs or makes, if its stage has a neighbour on another lane on that side.
std::optional<Instruction> receive_of(const Program& program, const Instruction& c, std::int64_t bytes) {
  if (c.kind == Kind::fwd && crosses_lanes(program, c.stage - 1))
    return Instruction{Kind::recv_act, c.microbatch, c.stage, -1, bytes};
  const bool takes_gradient = c.kind == Kind::bwd || c.kind == Kind::bwd_input;
  if (takes_gradient && crosses_lanes(program, c.stage))
    return Instruction{Kind::recv_grad, c.microbatch, c.stage, -1, bytes};
  return std::nullopt;
}

std::optional<Instruction> send_of(const Program& program, const Instruction& c, std::int64_t bytes) {
  if (c.kind == Kind::fwd && crosses_lanes(program, c.stage))
    return Instruction{Kind::send_act, c.microbatch, c.stage, -1, bytes};
  const bool makes_gradient = c.kind == Kind::bwd || c.kind == Kind::bwd_input;
  if (makes_gradient && crosses_lanes(program, c.stage - 1))
    return Instruction{Kind::send_grad, c.microbatch, c.stage, -1, bytes};
  return std::nullopt;
}

// For each computation the receives to post before it.
std::vector<std::vector<Instruction>> place_receives(const Program& program, std::int64_t bytes,
                                                     const std::vector<Instruction>& computations) {
  std::vector<std::vector<Instruction>> before(computations.size());
  std::optional<std::size_t> last_act, last_grad;  // the previous computation that received in this direction
  for (std::size_t i = 0; i < computations.size(); ++i) {
    const auto receive = receive_of(program, computations[i], bytes);
    if (!receive) continue;
    auto& last = receive->kind == Kind::recv_act ? last_act : last_grad;
    before[last.value_or(i == 0 ? 0 : i - 1)].push_back(*receive);
    last = i;
  }
  return before;
}

void append_tail(const Program& program, const PipelineShape& shape, int lane, std::vector<Instruction>* out) {
  const int pp_rank = lane / program.dp;
  const int last_stage = program.stages() - 1;
  for (int stage = 0; stage <= last_stage; ++stage) {
    if (program.pp_rank_of_stage[static_cast<std::size_t>(stage)] != pp_rank) continue;
    const bool exchanged = program.dp > 1 && !shape.gradient_bytes.empty();
    const std::int64_t bytes = exchanged ? shape.gradient_bytes[static_cast<std::size_t>(stage)] : 0;
    out->push_back({Kind::reduce_grads, -1, stage, -1, bytes});
  }
  for (const int stage : tied_stages_of(program, lane)) {
    out->push_back({Kind::reduce_tied, -1, stage, -1, tied_on_one_lane(program) ? 0 : shape.tied_bytes});
  }
  out->push_back({Kind::norm, -1, -1, -1, 0});
  out->push_back({Kind::step, -1, -1, -1, 0});
}

}  // namespace

std::vector<Instruction> emit_lane(const Program& program, const PipelineShape& shape, int lane,
                                   const std::vector<Instruction>& computations) {
  const auto receives = place_receives(program, shape.boundary_bytes, computations);
  std::vector<Instruction> out;
  std::set<int> loaded;
  for (std::size_t i = 0; i < computations.size(); ++i) {
    const Instruction& c = computations[i];
    out.insert(out.end(), receives[i].begin(), receives[i].end());
    const bool reads_tokens = c.stage == 0 || c.stage == program.stages() - 1;
    if (reads_tokens && loaded.insert(c.microbatch).second) out.push_back({Kind::load, c.microbatch, -1, -1, 0});
    out.push_back(c);
    if (const auto send = send_of(program, c, shape.boundary_bytes)) out.push_back(*send);
  }
  append_tail(program, shape, lane, &out);
  return out;
}

}  // namespace troika::schedule
