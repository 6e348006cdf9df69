// What of a run a GPU need not repeat to the last bit (docs/reproducibility.md, "On GPUs").
#pragma once

#include <string>

#include "config/settings.h"

namespace troika::plan {

// Empty, or the first such operation, in a sentence with why and a remedy. The gradients of weights must begin on 16 bytes,
// wherever a layout writes them: cuBLAS chooses kernels of products by shape and by alignment.
std::string unequal_operation(const config::Settings& settings);

}  // namespace troika::plan
