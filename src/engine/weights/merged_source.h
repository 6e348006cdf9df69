// An adapter added to the weights beside it: W + alpha / rank * B A, in fp32, while they are loaded.
#pragma once

#include <memory>

#include "weights/adapter_source.h"
#include "weights/model_source.h"

namespace troika::weights {

// Any part of any tensor has the same bits, however the ranks cut it. Memory while loading: 64 MiB of the adapter, or
// one product's, in fp32. DataError when the adapter is not one of its base.
std::unique_ptr<ModelSource> make_merged_source(std::unique_ptr<ModelSource> base,
                                                std::unique_ptr<AdapterSource> adapter);

}  // namespace troika::weights
