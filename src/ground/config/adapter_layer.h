// The settings that lora.path implies: those of the adapter that a run begins with.
#pragma once

#include <vector>

#include "config/layers.h"
#include "config/settings.h"

namespace troika::config {

// Where a layer states lora.path: rank, alpha, rslora, patterns, targets and dropout that no layer states become the adapter's,
// and a note says so; an error for each that is stated and by which its adapters would not be those of lora.path (dropout is
// free). Settings that say the same in other words pass: alpha 16 without rslora for rank 4 and alpha 8 with it. After all layers
// are laid. A path that is gone is passed over where a rank is stated. DataError where the adapter cannot be read.
void take_adapter(const std::vector<Layer>& layers, MergedSettings* merged);

}  // namespace troika::config
