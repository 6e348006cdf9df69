#include "train/schedule_file.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "model/layout.h"
#include "schedule/border.h"
#include "schedule/sizes.h"

namespace troika::train {
namespace {

void refuse_unlike(const std::string& path, const std::string& what, std::int64_t theirs, std::int64_t ours) {
  if (theirs == ours) return;
  throw base::DataError(
      fmt::format("the schedule file '{}' is for {} {}, but this run has {}", path, what, theirs, ours));
}

void refuse_unfetched(const std::string& path, const schedule::Program& program) {
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    std::set<int> fetched;
    for (const schedule::Instruction& i : program.lanes[lane]) {
      if (i.kind == schedule::Kind::fetch) fetched.insert(i.segment);
    }
    for (const int stage : schedule::stages_of_lane(program, static_cast<int>(lane))) {
      for (int g = program.first_segment(stage); g < program.end_segment(stage); ++g) {
        if (fetched.count(g) > 0) continue;
        throw base::DataError(fmt::format(
            "the schedule file '{}': lane {} does not fetch the optimizer state of segment {}, but this run "
            "offloads it; put fetch and offload around every step of a segment, or leave --offload out",
            path, lane, g));
      }
    }
  }
}

}  // namespace

schedule::Program read_program(const Plan& plan, const std::string& path) {
  schedule::Program program;
  try {
    program = schedule::parse_program(base::read_file(path));
    schedule::check_fields(program);
  } catch (const base::ConfigError& error) {
    throw base::DataError(fmt::format("the schedule file '{}': {}", path, error.what()));
  } catch (const base::BugError& error) {
    throw base::DataError(fmt::format("the schedule file '{}': {}", path, error.what()));
  }
  if (program.evaluates()) {
    throw base::DataError(
        fmt::format("the schedule file '{}' is the program of an evaluation; give that of a training step", path));
  }
  const int segments = model::segment_count(plan.model());
  refuse_unlike(path, "pp", program.pp, plan.shape.pp);
  refuse_unlike(path, "dp", program.dp, plan.shape.dp);
  refuse_unlike(path, "dp x cp", program.replicas, plan.shape.dp * plan.shape.cp);
  refuse_unlike(path, "ZeRO stage", program.zero, plan.settings().parallel.zero);
  refuse_unlike(path, "microbatches", program.microbatches, plan.resolved.batch.microbatches);
  refuse_unlike(path, "segments", program.segments(), segments);
  const int first_trained = model::first_trained_segment(plan.model(), plan.trained);
  refuse_unlike(path, "first trained segment", program.first_trained, first_trained);
  refuse_unlike(path, "tied embeddings", program.tied ? 1 : 0,
                plan.model().tie_embeddings && plan.trained.own(0) ? 1 : 0);
  refuse_unlike(path, "documents apart (all_load)", program.all_load ? 1 : 0, plan.documents_apart() ? 1 : 0);
  if (plan.settings().parallel.offload != "none") refuse_unfetched(path, program);
  return program;
}

void set_bytes(const schedule::StepShape& shape, schedule::Program* program) {
  using schedule::Kind;
  for (auto& lane : program->lanes) {
    for (schedule::Instruction& i : lane) {
      const auto sum = [&](std::int64_t schedule::SegmentBytes::*of) {
        const schedule::SegmentRange range = schedule::segments_of(*program, i);
        std::int64_t bytes = 0;
        for (int g = range.begin; g < range.end; ++g) bytes += shape.segments[static_cast<std::size_t>(g)].*of;
        return program->replicas > 1 ? bytes : 0;
      };
      const bool between_stages = i.kind == Kind::send_act || i.kind == Kind::recv_act || i.kind == Kind::send_grad ||
                                  i.kind == Kind::recv_grad;
      if (between_stages) i.bytes = shape.boundary_bytes;
      if (i.kind == Kind::reduce_grads) i.bytes = sum(&schedule::SegmentBytes::gradients_sent);
      if (i.kind == Kind::gather_grads) i.bytes = sum(&schedule::SegmentBytes::totals_sent);
      if (i.kind == Kind::gather_params) i.bytes = sum(&schedule::SegmentBytes::parameters_sent);
      if (i.kind == Kind::reduce_tied) i.bytes = schedule::tied_on_one_lane(*program) ? 0 : shape.tied_bytes;
    }
  }
}

}  // namespace troika::train
