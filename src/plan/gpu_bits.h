// What of a run a GPU need not repeat to the last bit (docs/reproducibility.md, "On GPUs").
#pragma once

#include <string>

#include "config/settings.h"

namespace troika::plan {

// How libtorch finds the kernel of a product.
enum class ProductsChosen { by_shape, by_time };

// Empty, or the first such operation, in a sentence with why and a remedy. Products must be chosen by shape alone; and the
// gradients of weights begin on 16 bytes, wherever a layout writes them: cuBLAS chooses by alignment too.
std::string unequal_operation(const config::Settings& settings, ProductsChosen products);

}  // namespace troika::plan
