// Opens the weights at a path: a whole model, or an adapter with its base.
#pragma once

#include <memory>
#include <string>

#include "weights/adapter_source.h"
#include "weights/model_source.h"

namespace troika::weights {

// One of the two.
struct Weights {
  std::unique_ptr<ModelSource> model;
  std::unique_ptr<AdapterSource> adapter;
};

// Collective over `world`; errors as of open_model. The folder `model` of a checkpoint with an adapter is that
// checkpoint.
Weights open_weights(const std::string& path, comm::Channel& world);

// Collective over `world`. `base`: as of open_model. Opens what the adapter is on, which may be adapters again, and
// adds them up. ConfigError when the base is not there; DataError when the adapter is not one of its base, or its base
// is not that of its training and was not named by `base`.
std::unique_ptr<ModelSource> merge_with_base(std::unique_ptr<AdapterSource> adapter, const std::string& base,
                                             comm::Channel& world);

}  // namespace troika::weights
