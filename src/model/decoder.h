// The decoder family as segments. Qwen3: pre-norm blocks, grouped-query attention with per-head QK norm and rotary
// positions, SwiGLU, RMSNorm, tied or untied head. Source: "Qwen3 Technical Report", 2025, and the published
// config.json files.
#pragma once

#include <memory>
#include <vector>

#include "config/settings.h"
#include "model/segment.h"

namespace troika::model {

// All segments of the model in order; `positions` bounds T. They hold no parameters.
std::vector<std::unique_ptr<Segment>> make_segments(const config::ModelSettings& model, std::int64_t positions,
                                                    const c10::Device& device);

// The logits of the last position of every sequence, for generation: x_BD -> [B, V]. `parameters` is the head's.
at::Tensor head_logits(const config::ModelSettings& model, const SegmentBuffer& parameters, const at::Tensor& x_BD);

}  // namespace troika::model
