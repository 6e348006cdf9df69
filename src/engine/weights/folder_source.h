// A Hugging Face model folder as a source of weights.
#pragma once

#include <memory>
#include <string>

#include "weights/model_source.h"

namespace troika::weights {

// Collective over `world`; see open_model.
std::unique_ptr<ModelSource> open_folder_source(const std::string& path, comm::Channel& world);

}  // namespace troika::weights
