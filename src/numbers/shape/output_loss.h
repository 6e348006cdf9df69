// What the output projection with its cross-entropy leaves between forward and backward (kernels/output_loss.h computes it).
#pragma once

#include <algorithm>
#include <cstdint>

#include "shape/gpu_chunks.h"

namespace troika::shape {

// Shapes: M rows, D width, v rows of the projection on this rank.
struct OutputLossShape {
  std::int64_t M, D, v;
  int parts;                       // ranks that the vocabulary is split over
  std::int64_t bytes_per_element;  // of the compute dtype
  enum class Weight { trained, frozen } weight = Weight::trained;

  std::int64_t weight_gradient_bytes() const { return weight == Weight::trained ? 4 * v * D : 0; }
};

// The logits, or the gradients themselves: those where they take less than half of the bytes and the whole vocabulary is on
// this rank.
enum class LossKeep { logits, gradients };

// Rows whose logits exist at a time: kernels::output_loss_chunk_rows gives the reason.
inline std::int64_t output_loss_chunk_rows(std::int64_t D) { return std::clamp<std::int64_t>(2 * D, 128, 512); }

inline LossKeep output_loss_keep(const OutputLossShape& shape) {
  const std::int64_t logits_bytes = shape.M * shape.v * shape.bytes_per_element;
  const std::int64_t gradients_bytes = shape.M * shape.D * shape.bytes_per_element + shape.weight_gradient_bytes();
  return shape.parts == 1 && 2 * gradients_bytes < logits_bytes ? LossKeep::gradients : LossKeep::logits;
}

// What a forward computes with beside what it leaves: the logits of a chunk of rows, fp32, where none are kept as they are. Gradients
// take their place.
inline std::int64_t output_loss_room_bytes(const OutputLossShape& shape, std::int64_t chunk_rows) {
  const bool kept = output_loss_keep(shape) == LossKeep::logits && shape.bytes_per_element == 4;
  return kept ? 0 : 4 * std::min(shape.M, chunk_rows) * shape.v;
}
inline std::int64_t output_loss_chunk_bytes(const OutputLossShape& shape) {
  return output_loss_room_bytes(shape, output_loss_chunk_rows(shape.D));
}
inline std::int64_t output_loss_gpu_bytes(const OutputLossShape& shape) {
  return output_loss_room_bytes(shape, logit_chunk_rows(shape.v));
}

}  // namespace troika::shape
