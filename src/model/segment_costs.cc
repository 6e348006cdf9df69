// What each segment costs, from numbers alone.
#include "model/layout.h"

namespace troika::model {

std::vector<double> segment_costs(const config::ModelSettings& m, std::int64_t seq_len) {
  const double D = static_cast<double>(m.hidden), NH = static_cast<double>(m.heads * m.head_dim);
  const double KH = static_cast<double>(m.kv_heads * m.head_dim), F = static_cast<double>(m.ffn);
  const double block = D * (NH + 2 * KH) + NH * D + 3 * D * F + 2 * NH * static_cast<double>(seq_len);
  std::vector<double> costs(static_cast<std::size_t>(segment_count(m)), block);
  costs.front() = D;  // a look-up
  costs.back() = D * static_cast<double>(m.vocab);
  return costs;
}

// Shapes: M rows of a microbatch, m those that this rank keeps between split operations.
static std::int64_t block_saved_bytes(const config::ModelSettings& model, std::int64_t M, std::int64_t m,
                                      const LocalWidths& widths, Keep keep, std::int64_t bytes_per_element) {
  const std::int64_t n = widths.heads.count, k = widths.kv_heads.count, H = model.head_dim, f = widths.ffn.count;
  const std::int64_t stream = 2 * model.hidden;                       // x and mid
  const std::int64_t products = (n + 2 * k) * H + n * H + 2 * f;      // q k v, attention's out, gate and up
  const std::int64_t statistics = 4 * (m * 2 + M * (n + k) + M * n);  // inverse roots of norms and heads; log-sum-exp
  // Again from these: outputs of the two norms; rotated q and k; SwiGLU's product.
  const std::int64_t again = keep == Keep::lean ? 0 : m * 2 * model.hidden + M * ((n + k) * H + f);
  return bytes_per_element * (m * stream + M * products + again) + statistics;
}

// The gradients of the two sums and of q k v, gate and up; what weights were multiplied with; the norms' gradients.
static std::int64_t block_half_bytes(const config::ModelSettings& model, std::int64_t M, std::int64_t m,
                                     const LocalWidths& widths, std::int64_t bytes_per_element) {
  const std::int64_t n = widths.heads.count, k = widths.kv_heads.count, H = model.head_dim, f = widths.ffn.count;
  const std::int64_t gradients = 2 * model.hidden + (n + 2 * k) * H + 2 * f, inputs = n * H + f;
  return bytes_per_element * (M * (gradients + inputs) + m * 2 * model.hidden) + 4 * (2 * model.hidden + 2 * H);
}

SavedBytes segment_saved_bytes(const config::ModelSettings& model, std::int64_t B, std::int64_t T,
                               const TensorShare& share, sharding::SequenceParallel split, Keep keep,
                               std::int64_t bytes_per_element) {
  const auto segments = static_cast<std::size_t>(segment_count(model));
  const LocalWidths widths = local_widths(model, share);
  const std::int64_t M = B * T, D = model.hidden, v = widths.vocab.count;
  const std::int64_t m =
      split == sharding::SequenceParallel::on ? sharding::part_of(M, share.rank, share.size).count : M;
  SavedBytes bytes;
  bytes.half.assign(segments, block_half_bytes(model, M, m, widths, bytes_per_element));
  bytes.half.front() = bytes_per_element * m * D;
  bytes.half.back() = bytes_per_element * (m * D + M * v) + 4 * (m + D);
  bytes.whole.assign(segments, 0);
  if (keep == Keep::nothing) return bytes;
  for (std::size_t i = 1; i + 1 < segments; ++i)
    bytes.whole[i] = block_saved_bytes(model, M, m, widths, keep, bytes_per_element);
  const std::int64_t normed = keep == Keep::lean ? 0 : m * D;
  const std::int64_t half_lse = bytes_per_element == 4 ? 0 : 4 * M;  // kernels::OutputLossSaved::part_lse_M
  bytes.whole.back() = bytes_per_element * (m * D + normed + M * v) + 4 * (m + M) + half_lse;
  return bytes;
}

}  // namespace troika::model
