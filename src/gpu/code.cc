#include "gpu/code.h"

namespace troika::gpu {

const DeviceCode* code_for(const std::vector<DeviceCode>& all, int capability) {
  const DeviceCode* best = nullptr;
  for (const DeviceCode& one : all) {
    const bool runs = one.capability <= capability && (one.is_text || one.capability / 10 == capability / 10);
    if (!runs) continue;
    const bool better = best == nullptr || (best->is_text && !one.is_text) ||
                        (best->is_text == one.is_text && one.capability > best->capability);
    if (better) best = &one;
  }
  return best;
}

}  // namespace troika::gpu
