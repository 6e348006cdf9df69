// What each segment costs, from numbers alone.
#include "kernels/output_loss.h"
#include "model/activation.h"
#include "model/architecture.h"
#include "model/layout.h"
#include "model/norm.h"

namespace troika::model {
namespace {

// What of a block's bytes depends on the architecture.
struct Shape {
  std::int64_t norm_elements, norm_saved;  // of one norm; the second per row
  std::int64_t rotated;                    // 1 where queries and keys are turned, else 0
  std::int64_t normed_heads;               // 1 where they are normed before, else 0
  std::int64_t inputs;                     // of the activation, for one output
};

Shape shape_of(const config::ModelSettings& model) {
  const Architecture& architecture = architecture_of(model);
  const auto norm = make_norm(model);
  return {norm->elements(), norm->saved_per_row(), has_rotary_positions(architecture) ? 1 : 0,
          architecture.positions == Architecture::Positions::normed_rotary ? 1 : 0,
          activation_of(architecture).inputs_per_output};
}

}  // namespace

std::vector<double> segment_costs(const config::ModelSettings& m, std::int64_t seq_len) {
  const double D = static_cast<double>(m.hidden), NH = static_cast<double>(m.heads * m.head_dim);
  const double KH = static_cast<double>(m.kv_heads * m.head_dim), F = static_cast<double>(m.ffn);
  const double products = static_cast<double>(1 + shape_of(m).inputs);
  const double block = D * (NH + 2 * KH) + NH * D + products * D * F + 2 * NH * static_cast<double>(seq_len);
  std::vector<double> costs(static_cast<std::size_t>(segment_count(m)), block);
  costs.front() = D;  // a look-up
  costs.back() = D * static_cast<double>(m.vocab);
  return costs;
}

// Shapes: M rows of a microbatch, m those that this rank keeps between split operations.
static std::int64_t block_saved_bytes(const config::ModelSettings& model, std::int64_t M, std::int64_t m,
                                      const LocalWidths& widths, Keep keep, std::int64_t bytes_per_element) {
  const std::int64_t n = widths.heads.count, k = widths.kv_heads.count, H = model.head_dim, f = widths.ffn.count;
  const Shape shape = shape_of(model);
  const std::int64_t stream = 2 * model.hidden;  // x and mid
  const std::int64_t products =
      (n + 2 * k) * H + n * H + shape.inputs * f;  // q k v, attention's out, the first product
  // Of norms, of normed heads; log-sum-exp.
  const std::int64_t statistics = 4 * (m * 2 * shape.norm_saved + M * shape.normed_heads * (n + k) + M * n);
  // Again from these: outputs of the two norms; rotated q and k; the activation.
  const std::int64_t again = keep == Keep::lean ? 0 : m * 2 * model.hidden + M * (shape.rotated * (n + k) * H + f);
  return bytes_per_element * (m * stream + M * products + again) + statistics;
}

// The gradients of the two sums, of q k v and of the first product; what weights were multiplied with; the norms' gradients.
static std::int64_t block_half_bytes(const config::ModelSettings& model, std::int64_t M, std::int64_t m,
                                     const LocalWidths& widths, std::int64_t bytes_per_element) {
  const std::int64_t n = widths.heads.count, k = widths.kv_heads.count, H = model.head_dim, f = widths.ffn.count;
  const Shape shape = shape_of(model);
  const std::int64_t gradients = 2 * model.hidden + (n + 2 * k) * H + shape.inputs * f, inputs = n * H + f;
  return bytes_per_element * (M * (gradients + inputs) + m * 2 * model.hidden) +
         4 * (2 * shape.norm_elements + shape.normed_heads * 2 * H);
}

struct HeadBytes {
  std::int64_t whole = 0, half = 0;
};

static HeadBytes head_saved_bytes(const config::ModelSettings& model, std::int64_t M, std::int64_t m, std::int64_t v,
                                  int parts, Keep keep, std::int64_t bytes_per_element) {
  const Shape shape = shape_of(model);
  const std::int64_t D = model.hidden, statistics = 4 * m * shape.norm_saved;
  if (kernels::output_loss_keep(M, D, v, parts, bytes_per_element) == kernels::LossKeep::gradients) {
    const std::int64_t dw = 4 * v * D;
    return {bytes_per_element * (m * D + M * D) + dw + statistics, dw + statistics + 4 * shape.norm_elements};
  }
  const std::int64_t normed = keep == Keep::lean ? 0 : m * D;
  const std::int64_t half_lse = bytes_per_element == 4 ? 0 : 4 * M;  // kernels::OutputLossSaved::part_lse_M
  return {bytes_per_element * (m * D + normed + M * v) + statistics + 4 * M + half_lse,
          bytes_per_element * (m * D + M * v) + statistics + 4 * shape.norm_elements};
}

SavedBytes segment_saved_bytes(const config::ModelSettings& model, std::int64_t B, std::int64_t T,
                               const TensorShare& share, sharding::SequenceParallel split, Keep keep,
                               std::int64_t bytes_per_element) {
  const auto segments = static_cast<std::size_t>(segment_count(model));
  const LocalWidths widths = local_widths(model, share);
  const std::int64_t M = B * T, D = model.hidden;
  const std::int64_t m =
      split == sharding::SequenceParallel::on ? sharding::part_of(M, share.rank, share.size).count : M;
  SavedBytes bytes;
  bytes.half.assign(segments, block_half_bytes(model, M, m, widths, bytes_per_element));
  bytes.half.front() = bytes_per_element * m * D;
  const HeadBytes head = head_saved_bytes(model, M, m, widths.vocab.count, share.size, keep, bytes_per_element);
  bytes.half.back() = head.half;
  bytes.whole.assign(segments, 0);
  if (keep == Keep::nothing) return bytes;
  for (std::size_t i = 1; i + 1 < segments; ++i)
    bytes.whole[i] = block_saved_bytes(model, M, m, widths, keep, bytes_per_element);
  bytes.whole.back() = head.whole;
  return bytes;
}

}  // namespace troika::model
