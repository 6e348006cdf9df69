// Converts a batch of module data to the input of a rank's segments.
#pragma once

#include "data/loader.h"
#include "model/segment.h"
#include "sharding/context_group.h"
#include "tensor/tensor.h"

namespace troika::inference {

// This rank's positions of every row, on `device`; rows without a target carry no loss. Documents that are apart say
// where they begin.
model::Tokens tokens_of(const data::TokenBatch& batch, const sharding::ContextGroup& context,
                        const tensor::Device& device);

}  // namespace troika::inference
