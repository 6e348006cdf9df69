// The positions of this rank's rows in their sequences.
#pragma once

#include <cstdint>

#include "config/settings.h"
#include "kernels/rope.h"
#include "model/segment.h"
#include "sharding/context_group.h"
#include "tensor/tensor.h"

namespace troika::model {

// Positions of a sequence of at most seq_len, under context parallelism exactly seq_len: a row for every position of
// this rank, as the architecture's positions need it.
struct Positions {
  std::int64_t seq_len = 0;
  kernels::RopeTable rope, whole_rope;  // rotary; of all positions
  tensor::Tensor index_T;                   // learned; int64
};

// The rows that belong to the positions of `tokens`, which restart at 0 in each packed document.
kernels::RopeTable rope_of(const Positions& positions, const Tokens& tokens);  // rotary
tensor::Tensor learned_rows_of(const Positions& positions, const Tokens& tokens);  // learned; int64, [B * T]

// For a model with rotary positions.
kernels::RopeFrequencies rope_frequencies(const config::ModelSettings& model);

// ConfigError when a learned table is shorter than seq_len.
Positions make_positions(const config::ModelSettings& model, std::int64_t seq_len, const tensor::Device& device,
                         const sharding::ContextGroup& context);

// BugError when the microbatch is longer than `positions` was made for.
void check_positions(const Positions& positions, const Tokens& tokens, const sharding::ContextGroup& context);

}  // namespace troika::model
