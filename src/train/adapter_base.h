// An adapter with what it stands on.
#pragma once

#include <memory>
#include <string>

#include "train/adapter_source.h"
#include "train/model_source.h"

namespace troika::train {

// Collective over `world`. `base`: as of open_model. Opens what the adapter stands on, which may be adapters again, and
// adds them up. ConfigError when the base is not there; DataError when the adapter is not one of its base, or its base
// is not that of its training and was not named by `base`.
std::unique_ptr<ModelSource> merge_with_base(std::unique_ptr<AdapterSource> adapter, const std::string& base,
                                             comm::Channel& world);

}  // namespace troika::train
