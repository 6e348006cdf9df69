// A whole decoder that continues sequences: keys and values of earlier positions come from each sequence's cache, so a new
// token costs one row.
// Shapes: B sequences, V vocabulary.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "config/settings/settings.h"
#include "model/block_halves.h"
#include "model/key_value_cache.h"
#include "tensor/tensor.h"

namespace troika::inference {

// A sequence and the ids that follow what its cache holds, at least one.
struct Continuation {
  model::KeyValueCache* cache = nullptr;
  std::vector<std::int32_t> ids;
};

// One rank that holds all segments. Threads: const; caches belong to one thread.
class CachedDecoder {
 public:
  // `parameters`: a buffer for each segment as segment_layout lays it out, like Decoder::parameters(); shared, not copied.
  // No sequence may become longer than `context` positions. ConfigError when learned positions are fewer.
  CachedDecoder(const config::ModelSettings& model, const std::vector<tensor::Tensor>& parameters, std::int64_t context);

  std::int64_t context() const { return positions_.seq_len; }
  // Empty. On the CPU it holds fp32: halves would be converted again for every token.
  model::KeyValueCache new_cache() const;

  // Adds the ids to the caches and returns the logits after the last of each, [B, V] in fp32. Several ids of a sequence
  // are computed apart from other sequences, a few hundred at a time, and single ids of several sequences together: on the
  // CPU a sequence's bits do not depend on what else is in the call. BugError when a sequence becomes too long, an id is
  // outside the vocabulary, or a cache appears twice.
  tensor::Tensor extend(const std::vector<Continuation>& sequences) const;

 private:
  void check(const std::vector<Continuation>& sequences) const;
  // One pass over the next `count` ids of each, from `first` on. Returns the last block's rows.
  tensor::Tensor pass(const std::vector<const Continuation*>& sequences, std::int64_t first, std::int64_t count) const;
  tensor::Tensor last_row(const Continuation& sequence) const;
  tensor::Tensor logits(const tensor::Tensor& x_MD) const;

  const config::ModelSettings model_;
  const std::vector<tensor::Tensor> parameters_;
  const model::Positions positions_;
  std::deque<model::BlockHalves> blocks_;
};

}  // namespace troika::inference
