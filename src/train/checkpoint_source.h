// A checkpoint of a run as a source of weights.
#pragma once

#include <memory>

#include "train/model_source.h"

namespace troika::train {

// What facts.extra says of where a run's weights came from; written by the trainer, read here.
inline const char* const weights_dtype_fact = "weights_dtype";
inline const char* const weights_from_fact = "weights_from";

std::unique_ptr<ModelSource> make_checkpoint_source(checkpoint::Found found);

}  // namespace troika::train
