#include "train/snapshot.h"

#include <ATen/ATen.h>

namespace troika::train {

static checkpoint::Slice slice(const std::string& prefix, const model::Slot& slot, const at::Tensor& flat) {
  const std::int64_t elements = slot.info.elements();
  return {prefix + slot.info.name, slot.info.shape, {0, elements, elements, 1}, flat.narrow(0, slot.offset, elements)};
}

Slices slices_of(const std::map<int, std::unique_ptr<executor::StageUnit>>& units, Copies copies) {
  Slices slices;
  for (const auto& [stage, unit] : units) {
    const auto& layout = unit->stage.layout();
    for (std::size_t i = 0; i < layout.slots.size(); ++i) {
      if (copies == Copies::owned && layout.tied_copy && i + 1 == layout.slots.size()) continue;
      slices.weights.push_back(slice("", layout.slots[i], unit->stage.parameters()));
      slices.state.push_back(slice("adam_m.", layout.slots[i], unit->optimizer.m()));
      slices.state.push_back(slice("adam_v.", layout.slots[i], unit->optimizer.v()));
    }
  }
  return slices;
}

}  // namespace troika::train
