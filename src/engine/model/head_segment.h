// The last segment: final norm, output projection (the embedding's table when tied), loss (kernels/row_loss.h). Each tp rank holds a
// part of the vocabulary.
#pragma once

#include <memory>

#include "config/settings.h"
#include "model/segment.h"
#include "model/segment_tools.h"
#include "shape/layout.h"
#include "tensor/tensor.h"

namespace troika::model {

// `on_logits` may be empty; otherwise forward makes the logits for it besides what the loss needs.
std::unique_ptr<Segment> make_head_segment(const config::ModelSettings& model, const Groups& groups,
                                           const shape::Trained& trained, OnLogits on_logits);

// The logits of rows of the stream in fp32, without tensor parallelism: x_MD -> [M, V]. `parameters` is the head's.
tensor::Tensor head_logits(const config::ModelSettings& model, const SegmentBuffer& parameters, const tensor::Tensor& x_MD);

}  // namespace troika::model
