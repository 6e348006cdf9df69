// How an operation on a GPU cuts its work, and the memory that it takes beside results: plain arithmetic, which the kernels and the plan
// share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/exact_math.h"

namespace troika::shape {

// Attention by products cuts its queries: scores in fp32 exist for one chunk of queries at a time, of all heads that are multiplied at
// once (kv heads that equally many query heads read).
inline constexpr std::int64_t most_scores_bytes = 64 << 20;  // or those of one query
constexpr std::int64_t spaced(std::int64_t S) { return (S + 7) / 8 * 8; }  // elements from row to row
constexpr std::int64_t chunk_queries(std::int64_t heads, std::int64_t T, std::int64_t S, std::int64_t bytes = most_scores_bytes) {
  const std::int64_t of_query = 4 * heads * spaced(S), queries = of_query == 0 ? T : bytes / of_query;
  return queries < 1 ? 1 : queries < T ? queries : T;
}
// The bytes of their scores, in forward; twice as much in backward.
constexpr std::int64_t scores_bytes(std::int64_t heads, std::int64_t T, std::int64_t S) {
  return 4 * heads * spaced(S) * chunk_queries(heads, T, S);
}

// The backward pass of attention by cuDNN is cut into pieces. B sequences, n query and k key/value heads, T queries, S keys, head width H. Elements of 2 bytes.
struct FlashSizes {
  std::int64_t B = 0, n = 0, k = 0, T = 0, S = 0, H = 0;
};

// Where it is repeatable, cuDNN keeps the gradients of the scores of all query heads that are computed at a time. These are so many that
// they fit into this: or those of one key/value head, where one query head's fit at all.
inline constexpr std::int64_t most_flash_bytes = 2 * most_scores_bytes;
constexpr std::int64_t flash_gradient_bytes(std::int64_t heads, std::int64_t T, std::int64_t S) {
  return 2 * heads * ((T + 63) / 64 * 64) * ((S + 127) / 128 * 128);
}
constexpr bool flash_fits(base::Repeatable repeatable, std::int64_t T, std::int64_t S, std::int64_t most = most_flash_bytes) {
  return repeatable == base::Repeatable::no || flash_gradient_bytes(1, T, S) <= most;
}

// The sizes of a piece: its sequences and key/value heads divide those of all, so that one plan of cuDNN's serves every piece.
constexpr FlashSizes flash_piece(FlashSizes all, base::Repeatable repeatable, std::int64_t most = most_flash_bytes) {
  if (repeatable == base::Repeatable::no) return all;
  const std::int64_t of_each = all.n / all.k;
  const auto fits = [&](std::int64_t heads) { return flash_gradient_bytes(heads, all.T, all.S) <= most; };
  std::int64_t sequences = all.B, kv = all.k;
  while (sequences > 1 && (all.B % sequences != 0 || !fits(sequences * all.n))) --sequences;
  while (kv > 1 && (all.k % kv != 0 || !fits(sequences * kv * of_each))) --kv;
  return {sequences, kv * of_each, kv, all.T, all.S, all.H};
}

// The most bytes that a piece takes: the gradients of its scores, or those of its queries in fp32, in our memory and in cuDNN's;
// the gradients of keys and values of each query head, where several read one key/value head; the sum of dout * out of each query.
constexpr std::int64_t flash_bytes(const FlashSizes& piece, base::Repeatable repeatable) {
  const std::int64_t heads = piece.B * piece.n;
  const std::int64_t gradients =
      repeatable == base::Repeatable::yes ? flash_gradient_bytes(heads, piece.T, piece.S) : 2 * 4 * heads * piece.T * piece.H;
  const std::int64_t of_each_head = piece.n == piece.k ? 0 : 2 * 2 * heads * piece.S * piece.H;
  return gradients + of_each_head + 4 * heads * piece.T;
}

// The output projection cuts its rows: logits in fp32 exist for one chunk of rows at a time. Every chunk costs a pass over the weight's
// gradient: it has as many rows of v logits as 1 GiB holds, a multiple of 128 up to 4096.
constexpr std::int64_t logit_chunk_rows(std::int64_t v) {
  return std::clamp<std::int64_t>((std::int64_t{1} << 30) / (4 * v) / 128 * 128, 128, 4096);
}

// Data that the output projection with its cross-entropy leaves between forward and backward (kernels/output_loss.h computes it).

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

// The room that a forward needs beside the data it leaves: the logits of a chunk of rows, fp32, where none are kept as they are.
// Gradients take their place.
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
