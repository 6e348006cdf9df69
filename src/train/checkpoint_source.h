// A checkpoint of a run as a source of weights.
#pragma once

#include <memory>

#include "train/model_source.h"

namespace troika::train {

std::unique_ptr<ModelSource> make_checkpoint_source(checkpoint::Found found);

}  // namespace troika::train
