#include "train/units.h"

#include <ATen/ATen.h>

#include "model/decoder.h"
#include "train/step_shape.h"

namespace troika::train {
using executor::Bucket;
using executor::SegmentUnit;

namespace {

std::unique_ptr<SegmentUnit> make_unit(const Plan& plan, const mesh::Coordinate& at, int segment,
                                       std::unique_ptr<model::Segment> body, const executor::BucketSettings& settings,
                                       tensor::Ledger& ledger) {
  auto unit = std::make_unique<SegmentUnit>();
  unit->body = std::move(body);
  auto buckets = buckets_of(plan, segment, plan.tensor_share(at));
  const auto values = plan.program.evaluates() ? Bucket::Content::frozen : Bucket::Content::parameters;
  unit->bucket = std::make_unique<Bucket>(std::move(buckets[0].layout), values, settings, ledger);
  if (buckets.size() == 1) return unit;
  const auto content = buckets[1].has_parameters ? values : Bucket::Content::gradients;
  unit->second_use = std::make_unique<Bucket>(std::move(buckets[1].layout), content, settings, ledger);
  if (buckets[1].has_parameters) unit->table = unit->second_use.get();
  return unit;
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
  SegmentUnit* last = units.empty() ? nullptr : units.rbegin()->second.get();
  if (last != nullptr && last->second_use != nullptr && last->table == nullptr) {
    last->table = units.at(0)->bucket.get();
    last->table_use = executor::Use::second;
  }
  return units;
}

void initialise_units(const executor::Units& units, std::uint64_t seed, double init_std) {
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
