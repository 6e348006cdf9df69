// Which tensor of a model folder is which parameter.
#pragma once

#include <map>
#include <string>

#include "config/settings.h"
#include "weights/weights_folder.h"

namespace troika::weights {

using Assignment = std::map<std::string, StoredTensor>;  // by parameter name

// The tensors of all parameters of `wanted`. `stored`: what the folder's config.json describes; `wanted` may have fewer layers,
// then the first ones are taken. A folder of the model without its head leaves out the family's prefix ("model.",
// "transformer."). DataError that lists every parameter that is missing, of another shape or of no dtype of weights, and every
// tensor that is neither a parameter of `stored` nor known to be none (shape/published_names.h).
Assignment match_weights(const WeightsFolder& folder, const config::ModelSettings& stored,
                         const config::ModelSettings& wanted);

}  // namespace troika::weights
