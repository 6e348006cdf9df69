// What one block of a decoder is made of. Blocks of a model may differ: parameters, costs, saved bytes, caches and the halves that
// compute follow from the kind of each.
#pragma once

#include <cstdint>
#include <vector>

#include "config/settings.h"

namespace troika::shape {

struct BlockKind {
  // full: each query sees every earlier position of its document. none: the block is its feed-forward alone.
  enum class Attention { none, full } attention = Attention::full;
  // rotary: queries and keys are turned, by the model's table. normed_rotary: each head of them is normed before.
  enum class Rotation { none, rotary, normed_rotary } rotation = Rotation::rotary;
  // One dense network, by its activation.
  enum class FeedForward { swiglu, gelu } feed_forward = FeedForward::swiglu;

  bool attends() const { return attention != Attention::none; }
  bool rotates() const { return attends() && rotation != Rotation::none; }
  bool norms_heads() const { return attends() && rotation == Rotation::normed_rotary; }
  std::int64_t activation_inputs() const { return feed_forward == FeedForward::swiglu ? 2 : 1; }  // of one output
  bool has(config::Projection projection) const;

  bool operator==(const BlockKind& other) const {
    return attention == other.attention && rotation == other.rotation && feed_forward == other.feed_forward;
  }
};

// Of the block that is this segment, 1 to model.layers.
BlockKind block_kind(const config::ModelSettings& model, int segment);

// The different kinds among a model's blocks.
struct BlockKinds {
  explicit BlockKinds(const config::ModelSettings& model);
  std::vector<BlockKind> kinds;       // in the order of their first blocks
  std::vector<int> first;             // segments of those
  std::vector<std::size_t> of_block;  // which of them, by layer, from 0
};

}  // namespace troika::shape
