// Segment 0: token ids to vectors, plus the vectors of their positions where the architecture learns them. Each tp rank
// looks up its part of the vocabulary; the table of positions is on all of them.
#pragma once

#include <memory>

#include "config/settings.h"
#include "model/positions.h"
#include "model/segment.h"
#include "model/segment_tools.h"
#include "tensor/tensor.h"

namespace troika::model {

std::unique_ptr<Segment> make_embedding_segment(const config::ModelSettings& model, const Positions& positions,
                                                const Groups& groups);

// The rows of ids at any positions, without tensor parallelism: ids_M, positions_M (int64) -> [M, D]. `flat`: segment 0's.
tensor::Tensor embed(const config::ModelSettings& model, const tensor::Tensor& flat, const tensor::Tensor& ids_M,
                     const tensor::Tensor& positions_M);

}  // namespace troika::model
