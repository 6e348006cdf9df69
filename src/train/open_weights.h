// What stands at a path: a whole model or an adapter.
#pragma once

#include <memory>
#include <string>

#include "train/adapter_source.h"
#include "train/model_source.h"

namespace troika::train {

// One of the two.
struct Weights {
  std::unique_ptr<ModelSource> model;
  std::unique_ptr<AdapterSource> adapter;
};

// Collective over `world`; errors as of open_model. The folder `model` of a checkpoint with an adapter is that
// checkpoint.
Weights open_weights(const std::string& path, comm::Channel& world);

}  // namespace troika::train
