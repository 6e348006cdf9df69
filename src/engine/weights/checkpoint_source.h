// A checkpoint of a run as a source of weights.
#pragma once

#include <memory>

#include "weights/model_source.h"

namespace troika::weights {

std::unique_ptr<ModelSource> make_checkpoint_source(checkpoint::Found found);

}  // namespace troika::weights
