#include "weights/rank_units.h"

#include <algorithm>

#include "executor/integrity.h"
#include "model/decoder.h"
#include "plan/stages.h"
#include "tensor/ledger.h"

namespace troika::weights {

using executor::Bucket;
using executor::SegmentUnit;

namespace {

// The elements of `slot` that the bucket holds: regions of the parameter, and where they lie in the held range.
template <class Visit>
void each_region(const Bucket& bucket, const shape::Slot& slot, Visit visit) {
  const std::int64_t begin = std::max(slot.offset, bucket.held().begin);
  const std::int64_t end = std::min(slot.offset + slot.elements(), bucket.held().end());
  if (begin >= end) return;
  std::int64_t position = begin - bucket.held().begin;
  for (const shape::Region& region : shape::part_of_region(slot.region, begin - slot.offset, end - begin)) {
    visit(region, position);
    position += region.elements();
  }
}

// As slices of the master copy and the optimizer's state. State in a file leaves the memory again while it is saved.
void add_slot(Bucket& bucket, const shape::Slot& slot, Slices* slices) {
  each_region(bucket, slot, [&](const shape::Region& region, std::int64_t position) {
    const auto slice = [&](const std::string& prefix, const tensor::Tensor& flat) {
      return checkpoint::Slice{prefix + slot.info.name, slot.info.shape, region,
                               flat.narrow(0, position, region.elements()), [&bucket] { bucket.optimizer().settle(); }};
    };
    slices->weights.push_back(slice("", bucket.optimizer().master()));
    const std::vector<shape::StateBuffer>& buffers = bucket.optimizer().buffers();
    for (std::size_t i = 0; i < buffers.size(); ++i)
      slices->state.push_back(slice(std::string(buffers[i].name) + ".", bucket.optimizer().buffer(i)));
  });
}

void add_weight(const Bucket& bucket, const shape::Slot& slot, const tensor::Tensor& flat,
                std::vector<checkpoint::Slice>* weights) {
  each_region(bucket, slot, [&](const shape::Region& region, std::int64_t position) {
    weights->push_back({slot.info.name, slot.info.shape, region, flat.narrow(0, position, region.elements())});
  });
}

// The parameters of `flat`, which holds the bucket's range held().
std::vector<checkpoint::Slice> weights_in(const Bucket& bucket, const tensor::Tensor& flat) {
  std::vector<checkpoint::Slice> weights;
  for (const shape::Slot& slot : bucket.layout().slots) add_weight(bucket, slot, flat, &weights);
  return weights;
}

// Each slot of the selection.
template <class Visit>
void each_selected(const executor::SegmentUnit& unit, Bucket& bucket, Selection selection, const executor::Place& place,
                   Visit visit) {
  if (selection == Selection::held) {
    for (const shape::Slot& slot : bucket.layout().slots) visit(slot);
    return;
  }
  const bool copy = &bucket == unit.table_copy.get();
  const bool replica_0_too = !bucket.holds_range() && mesh::replica_index(place.shape, place.at) > 0;
  if (copy || replica_0_too != (selection == Selection::again)) return;
  for (const shape::Slot& slot : bucket.layout().slots) {
    if (slot.first_holder == place.at.tp) visit(slot);
  }
}

std::unique_ptr<Bucket>& place_of(plan::BucketShape::Part part, SegmentUnit& unit) {
  if (part == plan::BucketShape::Part::table) return unit.table_copy;
  return part == plan::BucketShape::Part::adapter ? unit.adapter : unit.bucket;
}

std::unique_ptr<SegmentUnit> make_unit(const plan::Plan& plan, const mesh::Coordinate& at, int segment,
                                       std::unique_ptr<model::Segment> operations,
                                       const executor::BucketSettings& settings, tensor::Ledger& ledger) {
  auto unit = std::make_unique<SegmentUnit>();
  unit->segment = std::move(operations);
  for (plan::BucketShape& shape : plan::buckets_of(plan, plan.stages, segment, plan.tensor_share(at))) {
    if (shape.part == plan::BucketShape::Part::shared_table) continue;
    const auto content = shape.trained ? Bucket::Content::trainable : Bucket::Content::frozen;
    executor::BucketSettings of_bucket = settings;
    of_bucket.sum = sum_shape(plan, shape, at);
    place_of(shape.part, *unit) = std::make_unique<Bucket>(std::move(shape.layout), content, of_bucket, ledger);
  }
  unit->table = unit->table_copy.get();
  return unit;
}

// The head of a tied model that lies where the embedding does reads the embedding's table.
void share_table(const plan::Plan& plan, executor::Units& units) {
  const auto head = units.find(shape::segment_count(plan.model()) - 1);
  if (!plan.model().tie_embeddings || head == units.end() || head->second->table != nullptr) return;
  head->second->table = units.at(0)->bucket.get();
  head->second->table_read_by = executor::ReadBy::tied_head;
}

std::vector<Bucket*> frozen_buckets(const executor::Units& units) {
  std::vector<Bucket*> all;
  for (const auto& [segment, unit] : units)
    for (Bucket* bucket : unit->buckets())
      if (!bucket->is_trained()) all.push_back(bucket);
  return all;
}

}  // namespace

executor::Units make_units(const plan::Plan& plan, const mesh::Coordinate& at,
                           std::vector<std::unique_ptr<model::Segment>> segments, tensor::Streams& streams,
                           tensor::Ledger& ledger) {
  executor::BucketSettings settings;
  settings.zero = static_cast<int>(plan.settings().parallel.zero);
  settings.dtype = model::dtype_of(plan.precision());
  settings.streams = &streams;
  settings.optimizer = plan.settings().optimizer;
  settings.state = plan.state_place();
  settings.checksums = executor::checksums_for(plan.settings().train.checksums, streams.device());

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
    for (Bucket* bucket : unit->trained()) {
      const tensor::Tensor& master = bucket->optimizer().master();
      const tensor::Tensor on_host = master.is_cpu() ? master : tensor::empty(master.sizes(), master.dtype());
      model::initialise(bucket->layout(), bucket->held(), on_host, seed, init_std);
      if (!master.is_cpu()) master.copy_from(on_host);
    }
  }
  finish_access(units, Access::written);
}

void load_frozen(const executor::Units& units, const FillWeights& fill) {
  std::vector<checkpoint::Slice> all;
  for (const Bucket* bucket : frozen_buckets(units)) {
    const auto weights = weights_in(*bucket, bucket->own_values());
    all.insert(all.end(), weights.begin(), weights.end());
  }
  fill(all);
}

// In pieces of fp32 where the values are not fp32 on the host.
void initialise_frozen(const executor::Units& units, std::uint64_t seed, double init_std) {
  constexpr std::int64_t piece_elements = 1 << 20;
  for (Bucket* bucket : frozen_buckets(units)) {
    const tensor::Tensor& own = bucket->own_values();
    const shape::Range held = bucket->held();
    if (own.is_cpu() && own.dtype() == tensor::Dtype::fp32) {
      model::initialise(bucket->layout(), held, own, seed, init_std);
      continue;
    }
    for (std::int64_t begin = 0; begin < held.count; begin += piece_elements) {
      const std::int64_t count = std::min(piece_elements, held.count - begin);
      const tensor::Tensor exact = tensor::empty({count}, tensor::Dtype::fp32);
      model::initialise(bucket->layout(), {held.begin + begin, count}, exact, seed, init_std);
      own.narrow(0, begin, count).copy_from(exact);
    }
  }
}

void finish_access(const executor::Units& units, Access access) {
  for (const auto& [segment, unit] : units) {
    for (Bucket* bucket : unit->trained()) {
      if (access == Access::written) bucket->optimizer().master_changed();
      bucket->optimizer().settle();
    }
  }
}

Slices slices_of(const executor::Units& units, Selection selection, const executor::Place& place) {
  Slices slices;
  for (const auto& [segment, unit] : units)
    for (Bucket* bucket : unit->trained())
      each_selected(*unit, *bucket, selection, place,
                    [&](const shape::Slot& slot) { add_slot(*bucket, slot, &slices); });
  return slices;
}

std::vector<checkpoint::Slice> frozen_slices_of(const executor::Units& units, Selection selection,
                                                const executor::Place& place) {
  std::vector<checkpoint::Slice> weights;
  for (const auto& [segment, unit] : units) {
    for (Bucket* bucket : unit->buckets()) {
      if (bucket->is_trained()) continue;
      each_selected(*unit, *bucket, selection, place,
                    [&](const shape::Slot& slot) { add_weight(*bucket, slot, bucket->own_values(), &weights); });
    }
  }
  return weights;
}

}  // namespace troika::weights
