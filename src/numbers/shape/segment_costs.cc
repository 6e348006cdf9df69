#include "shape/segment_costs.h"

#include <algorithm>

#include <array>

#include "config/adapter_sizes.h"
#include "config/lora.h"
#include "shape/gpu_chunks.h"
#include "shape/adapter.h"
#include "shape/architecture.h"
#include "shape/layout.h"
#include "shape/operation_costs.h"
#include "shape/output_loss.h"

namespace troika::shape {
namespace {

// What of a block's bytes depends on the architecture.
struct BlockSizes {
  NormSizes norm;
  std::int64_t rotated;       // 1 where queries and keys are turned, else 0
  std::int64_t normed_heads;  // 1 where they are normed before, else 0
  std::int64_t inputs;        // of the activation, for one output
};

BlockSizes sizes_of(const config::ModelSettings& model) {
  const Architecture& architecture = architecture_of(model);
  return {norm_sizes(architecture, model.hidden), has_rotary_positions(architecture) ? 1 : 0,
          architecture.positions == Architecture::Positions::normed_rotary ? 1 : 0, activation_inputs(architecture)};
}

// The ranks of a projection's adapters together, and whether a backward reads its x and dy.
struct ProjectionUse {
  std::int64_t rank = 0;
  bool has_gradient = false;
  std::int64_t if_gradient(std::int64_t width) const { return has_gradient ? width : 0; }
};

struct BlockUse {
  bool own = true;  // the block's own weights are trained
  std::array<ProjectionUse, 4> projections;
  const ProjectionUse& of(FusedProjection projection) const {
    return projections[static_cast<std::size_t>(projection)];
  }
  std::int64_t adapted_width() const {  // of dropout(x) A^T of all projections
    std::int64_t sum = 0;
    for (const ProjectionUse& use : projections) sum += use.rank;
    return sum;
  }
};

BlockUse block_use(const Trained& trained, int segment) {
  BlockUse use;
  use.own = trained.own(segment);
  if (has_adapters(trained.lora)) {
    for (const config::Projection target : config::adapted_projections(trained.lora))
      use.projections[static_cast<std::size_t>(fused_projection_of(target))].rank +=
          config::adapter_size(trained.lora, {segment - 1, target}).rank;
  }
  for (ProjectionUse& projection : use.projections) projection.has_gradient = use.own || projection.rank > 0;
  return use;
}

// Forward, backward to the input and backward to the weights take about the same time each.
double share_of_passes(const Trained& trained, int segment, int first_trained) {
  const bool backward = segment >= first_trained;
  return backward && trained.own(segment) ? 1 : (backward ? 2.0 : 1.0) / 3;
}

// The rows of one microbatch on one rank: M, and m that it keeps between split operations; bytes of an element.
struct Rows {
  std::int64_t M, m, element_bytes;
  LocalWidths widths;
};

std::int64_t block_saved_bytes(const config::ModelSettings& model, const Rows& rows, SavedActivations saved,
                               const BlockUse& use) {
  const auto [M, m, element_bytes, widths] = rows;
  const std::int64_t n = widths.heads.count, k = widths.kv_heads.count, H = model.head_dim, f = widths.ffn.count;
  const BlockSizes sizes = sizes_of(model);
  const std::int64_t stream = 2 * model.hidden;  // x and mid
  const std::int64_t projections =
      (n + 2 * k) * H + n * H + sizes.inputs * f;  // q k v, attention's out, the feed-forward's first projection
  // Statistics of the norms and the normed heads; log-sum-exp.
  const std::int64_t statistics = 4 * (m * 2 * sizes.norm.saved_per_row + M * sizes.normed_heads * (n + k) + M * n);
  // Again from these: outputs of the two norms; rotated q and k; the activation.
  const std::int64_t normed = use.of(FusedProjection::queries_keys_values).if_gradient(model.hidden) +
                              use.of(FusedProjection::feed_forward_input).if_gradient(model.hidden);
  const std::int64_t hidden = use.of(FusedProjection::feed_forward_output).if_gradient(f);
  const std::int64_t again =
      saved == SavedActivations::all ? m * normed + M * (sizes.rotated * (n + k) * H + hidden) : 0;
  return element_bytes * (m * stream + M * (projections + use.adapted_width()) + again) + statistics;
}

// For projections with a gradient: the gradient of their outputs, and their inputs; the norms' gradients.
std::int64_t block_half_bytes(const config::ModelSettings& model, const Rows& rows, const BlockUse& use) {
  const auto [M, m, element_bytes, widths] = rows;
  const std::int64_t n = widths.heads.count, k = widths.kv_heads.count, H = model.head_dim, f = widths.ffn.count;
  const BlockSizes sizes = sizes_of(model);
  const ProjectionUse &qkv = use.of(FusedProjection::queries_keys_values),
                      &o = use.of(FusedProjection::attention_output);
  const ProjectionUse &up = use.of(FusedProjection::feed_forward_input),
                      &down = use.of(FusedProjection::feed_forward_output);
  const std::int64_t D = model.hidden;
  const std::int64_t of_all_rows = qkv.if_gradient((n + 2 * k) * H) + o.if_gradient(D + n * H) +
                                   up.if_gradient(sizes.inputs * f) + down.if_gradient(D + f);
  const std::int64_t norms = use.own ? 2 * sizes.norm.elements + sizes.normed_heads * 2 * H : 0;
  return element_bytes * (M * (of_all_rows + 2 * use.adapted_width()) + m * (qkv.if_gradient(D) + up.if_gradient(D))) +
         4 * norms;
}

struct HeadBytes {
  std::int64_t whole = 0, half = 0;
};

HeadBytes head_saved_bytes(const config::ModelSettings& model, const Rows& rows, int parts, SavedActivations saved,
                           bool trained) {
  const auto [M, m, element_bytes, widths] = rows;
  const NormSizes norm = sizes_of(model).norm;
  const std::int64_t D = model.hidden, v = widths.vocab.count, statistics = 4 * m * norm.saved_per_row;
  const OutputLossShape loss{
      M, D, v, parts, element_bytes, trained ? OutputLossShape::Weight::trained : OutputLossShape::Weight::frozen};
  HeadBytes bytes;
  if (output_loss_keep(loss) == LossKeep::gradients) {
    const std::int64_t dw = loss.weight_gradient_bytes();
    bytes = {element_bytes * (m * D + M * D) + dw + statistics, dw + statistics + 4 * norm.elements};
  } else {
    const std::int64_t normed = saved == SavedActivations::all && trained ? m * D : 0;
    const std::int64_t half_lse = element_bytes == 4 ? 0 : 4 * M;  // kernels::OutputLossSaved::part_lse_M
    bytes = {element_bytes * (m * D + normed + M * v) + statistics + 4 * M + half_lse,
             element_bytes * (m * D + M * v) + statistics + 4 * norm.elements};
  }
  if (!trained) bytes.half = 0;
  return bytes;
}

}  // namespace

int first_trained_segment(const config::ModelSettings& model, const Trained& trained) {
  if (has_adapters(trained.lora)) return 1;
  int segment = 0;
  while (segment + 1 < segment_count(model) && !trained.own(segment)) ++segment;
  return segment;
}

std::vector<double> segment_costs(const config::ModelSettings& m, std::int64_t seq_len, const Trained& trained) {
  const double D = static_cast<double>(m.hidden), NH = static_cast<double>(m.heads * m.head_dim);
  double block = 2 * NH * static_cast<double>(seq_len);
  for (const Product& product : block_products(m)) block += product.weights();
  std::vector<double> costs(static_cast<std::size_t>(segment_count(m)), block);
  costs.front() = D;  // a look-up
  costs.back() = D * static_cast<double>(m.vocab);
  const int first = first_trained_segment(m, trained);
  for (int segment = 0; segment < segment_count(m); ++segment)
    costs[static_cast<std::size_t>(segment)] *= share_of_passes(trained, segment, first);
  return costs;
}

SavedBytes segment_saved_bytes(const config::ModelSettings& model, const MicrobatchShape& microbatch,
                               SavedActivations saved, const Trained& trained) {
  const auto segments = static_cast<std::size_t>(segment_count(model));
  const std::int64_t M = microbatch.B * microbatch.T;
  const Rows rows{M, rows_between_operations(M, microbatch.share, microbatch.sequence).count,
                  bytes_of(microbatch.precision), local_widths(model, microbatch.share)};
  const auto use_of = [&](std::size_t segment) { return block_use(trained, static_cast<int>(segment)); };
  SavedBytes bytes;
  bytes.half.assign(segments, 0);
  for (std::size_t i = 1; i + 1 < segments; ++i) bytes.half[i] = block_half_bytes(model, rows, use_of(i));
  bytes.half.front() = rows.element_bytes * rows.m * model.hidden;
  const HeadBytes head =
      head_saved_bytes(model, rows, microbatch.share.size, saved, trained.own(static_cast<int>(segments) - 1));
  bytes.half.back() = head.half;
  bytes.whole.assign(segments, 0);
  if (saved == SavedActivations::none) return bytes;
  for (std::size_t i = 1; i + 1 < segments; ++i) bytes.whole[i] = block_saved_bytes(model, rows, saved, use_of(i));
  bytes.whole.back() = head.whole;
  return bytes;
}

std::int64_t block_backward_bytes(const config::ModelSettings& model, const MicrobatchShape& microbatch,
                                  base::Repeatable repeatable) {
  const LocalWidths widths = local_widths(model, microbatch.share);
  const std::int64_t B = microbatch.B, T = microbatch.T, M = B * T, H = model.head_dim, n = widths.heads.count,
                     k = widths.kv_heads.count, f = widths.ffn.count, element_bytes = bytes_of(microbatch.precision);
  const std::int64_t feed_forward = element_bytes * M * (sizes_of(model).inputs + 1) * f;
  std::int64_t attention = 2 * scores_bytes(n, T, T) + M * 2 * k * H * 4;
  if (microbatch.precision != config::Precision::fp32 && n % k == 0 && flash_fits(repeatable, T, T))
    attention = std::max(attention, flash_bytes(flash_piece({B, n, k, T, T, H}, repeatable), repeatable));
  return std::max(feed_forward, attention + element_bytes * M * (f + n * H + model.hidden));
}

}  // namespace troika::shape
