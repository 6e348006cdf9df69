#include "executor/stage_unit.h"

namespace troika::executor {

std::vector<optimizer::Parameter> optimizer_parameters(const model::StageLayout& layout) {
  std::vector<optimizer::Parameter> parameters;
  for (const model::Slot& slot : layout.slots) {
    parameters.push_back({slot.info.name, slot.offset, slot.info.elements(), slot.info.decays, true});
  }
  if (layout.tied_copy) parameters.back().counts = false;
  return parameters;
}

}  // namespace troika::executor
