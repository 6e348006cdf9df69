#include "plan/instruction_units.h"

#include "plan/buckets.h"
#include "schedule/instruction/placement.h"
#include "shape/segment_costs.h"

namespace troika::plan {

std::vector<double> segment_costs(const Plan& plan) {
  return shape::segment_costs(plan.model(), plan.resolved.batch.seq_len);
}

double part_in_pass(const Plan& plan, schedule::Kind kind, int segment) {
  double part = schedule::has_pass(kind, schedule::forward_pass) || schedule::has_pass(kind, schedule::recompute_pass);
  if (schedule::has_pass(kind, schedule::input_pass)) part += 0.5;
  if (schedule::has_pass(kind, schedule::weight_pass) && plan.trained.own(segment)) part += 0.5;
  return part;
}

double units_of(const Plan& plan, const std::vector<double>& costs, const schedule::Instruction& i) {
  double sum = 0;
  const schedule::SegmentRange range = schedule::segments_of(plan.program, i);
  for (int g = range.begin; g < range.end; ++g)
    sum += part_in_pass(plan, i.kind, g) * costs[static_cast<std::size_t>(g)];
  const double tokens = static_cast<double>(plan.resolved.batch.micro * plan.resolved.batch.seq_len);
  return sum * tokens / static_cast<double>(plan.shape.tp * plan.shape.cp);
}

double trained_elements(const Plan& plan, const schedule::Instruction& i) {
  double sum = 0;
  const schedule::SegmentRange range = schedule::segments_of(plan.program, i);
  for (int g = range.begin; g < range.end; ++g) {
    for (const BucketShape& bucket : buckets_of(plan, plan.stages, g, {0, plan.shape.tp}))
      sum += bucket.trained ? static_cast<double>(bucket.layout.elements) : 0;
  }
  return sum;
}

double norm_bytes(const Plan& plan) {
  const auto facts = 2 * static_cast<std::size_t>(plan.program.microbatches) * static_cast<std::size_t>(plan.shape.cp) +
                     plan.trained_parameters().size() * static_cast<std::size_t>(plan.shape.tp);
  return static_cast<double>(8 * facts * static_cast<std::size_t>(plan.shape.world() - 1));
}

}  // namespace troika::plan
