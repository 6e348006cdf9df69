// Low-rank adapters: a frozen projection y = x W^T gets y += scale dropout(x) A^T B^T, of which A [rank, I] and
// B [O, rank] are trained; each has its own rank and scale (config/lora.h) (E. Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021).
#pragma once

#include <vector>

#include "config/settings/settings.h"
#include "shape/layout.h"

namespace troika::shape {

inline bool has_adapters(const config::LoraSettings& lora) { return lora.rank > 0; }

// The projections of a block that adapters may be beside, and which of them a target (q_proj) is a part of.
enum class FusedProjection { queries_keys_values, attention_output, feed_forward_input, feed_forward_output };
FusedProjection fused_projection_of(config::Projection target);

// A and B of every target in this segment: "model.layers.0.self_attn.q_proj.lora_A.weight" and "...lora_B.weight", in
// buffer order, of one projection first every A, then every B; none outside the blocks. ConfigError naming a target that
// the architecture has not.
std::vector<ParameterInfo> adapter_parameters(const config::ModelSettings& model, const config::LoraSettings& lora,
                                              int segment);
// A is whole on every tp rank and B split by rows where the projection's outputs are split; where its inputs are, A is split by
// columns and B is whole.
SegmentLayout adapter_layout(const config::ModelSettings& model, const config::LoraSettings& lora, int segment,
                             const TensorShare& share = {});

}  // namespace troika::shape
