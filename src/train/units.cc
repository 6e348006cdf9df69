#include "train/units.h"

#include <ATen/ATen.h>

#include "model/decoder.h"
#include "train/step_shape.h"

namespace troika::train {
using executor::Bucket;
using executor::SegmentUnit;

namespace {

std::unique_ptr<Bucket>& place_of(BucketShape::Part part, SegmentUnit& unit) {
  if (part == BucketShape::Part::table) return unit.second_use;
  return part == BucketShape::Part::adapter ? unit.adapter : unit.bucket;
}

std::unique_ptr<SegmentUnit> make_unit(const Plan& plan, const mesh::Coordinate& at, int segment,
                                       std::unique_ptr<model::Segment> body, const executor::BucketSettings& settings,
                                       tensor::Ledger& ledger) {
  auto unit = std::make_unique<SegmentUnit>();
  unit->body = std::move(body);
  for (BucketShape& shape : buckets_of(plan, segment, plan.tensor_share(at))) {
    if (!shape.has_values && !shape.trained) continue;
    const auto content = !shape.has_values ? Bucket::Content::gradients
                         : shape.trained   ? Bucket::Content::parameters
                                           : Bucket::Content::frozen;
    place_of(shape.part, *unit) = std::make_unique<Bucket>(std::move(shape.layout), content, settings, ledger);
  }
  const bool has_table = unit->second_use != nullptr && unit->second_use->has_parameters();
  if (has_table) unit->table = unit->second_use.get();
  return unit;
}

// The head of a tied model that lies where the embedding does reads the embedding's table.
void share_table(const Plan& plan, executor::Units& units) {
  const auto head = units.find(model::segment_count(plan.model()) - 1);
  if (!plan.model().tie_embeddings || head == units.end() || head->second->table != nullptr) return;
  head->second->table = units.at(0)->bucket.get();
  head->second->table_use = executor::Use::second;
}

}  // namespace

executor::Units make_units(const Plan& plan, const mesh::Coordinate& at,
                           std::vector<std::unique_ptr<model::Segment>> segments, const c10::Device& device,
                           tensor::Ledger& ledger) {
  executor::BucketSettings settings;
  settings.zero = static_cast<int>(plan.settings().parallel.zero);
  settings.sum = plan.sum_shape(at);
  settings.dtype = plan.dtype();
  settings.device = device;
  settings.optimizer = plan.settings().optimizer;
  settings.state = plan.state_place();

  executor::Units units;
  for (int stage = 0; stage < plan.program.stages(); ++stage) {
    if (plan.program.pp_rank_of_stage[static_cast<std::size_t>(stage)] != at.pp) continue;
    for (int g = plan.program.first_segment(stage); g < plan.program.end_segment(stage); ++g)
      units[g] = make_unit(plan, at, g, std::move(segments[static_cast<std::size_t>(g)]), settings, ledger);
  }
  share_table(plan, units);
  return units;
}

void initialise_trained(const executor::Units& units, std::uint64_t seed, double init_std) {
  for (const auto& [segment, unit] : units) {
    for (Bucket* bucket : unit->buckets()) {
      if (!bucket->is_trained()) continue;
      const at::Tensor& master = bucket->optimizer().master();
      const at::Tensor on_host =
          master.is_cpu() ? master : at::empty_like(master, at::TensorOptions().device(at::kCPU));
      model::initialise(bucket->layout(), bucket->held(), on_host, seed, init_std);
      if (!master.is_cpu()) master.copy_(on_host);
    }
  }
  settle_units(units, Access::written);
}

void settle_units(const executor::Units& units, Access access) {
  for (const auto& [segment, unit] : units) {
    for (Bucket* bucket : unit->buckets()) {
      if (!bucket->is_trained()) continue;
      if (access == Access::written) bucket->optimizer().master_changed();
      bucket->optimizer().settle();
    }
  }
}

}  // namespace troika::train
