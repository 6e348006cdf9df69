#include "shape/segment_costs.h"

#include <algorithm>

#include <array>

#include "config/lora.h"
#include "shape/gpu_chunks.h"
#include "shape/adapter.h"
#include "shape/operation_costs.h"

namespace troika::shape {
namespace {

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

// The bytes that one block keeps for these rows, half by half.
class BlockBytes {
 public:
  BlockBytes(const config::ModelSettings& model, const Rows& rows, int segment, const Trained& trained)
      : kind_(block_kind(model, segment)),
        rows_(rows),
        use_(block_use(trained, segment)),
        norm_(norm_sizes(architecture_of(model), model.hidden)),
        D(model.hidden),
        H(model.head_dim),
        n(rows.widths.heads.count),
        k(rows.widths.kv_heads.count),
        f(rows.widths.ffn.count) {}

  // After forward.
  std::int64_t whole(SavedActivations saved) const {
    const bool all = saved == SavedActivations::all;
    return (kind_.attends() ? attention_whole(all) : 0) + feed_forward_whole(all);
  }
  // After backward_input.
  std::int64_t half() const { return (kind_.attends() ? attention_half() : 0) + feed_forward_half(); }

 private:
  // Kept: the stream x, q k v, attention's out, the adapters' inner values, what a norm behind the half reads; statistics of norms, of
  // normed heads, log-sum-exp.
  // Computed again from these: the norm's output; rotated q and k.
  std::int64_t attention_whole(bool all) const {
    const std::int64_t M = rows_.M, m = rows_.m;
    const std::int64_t again = all ? m * qkv().if_gradient(D) + M * (kind_.rotates() ? (n + k) * H : 0) : 0;
    const std::int64_t statistics = m * kind_.norms_of_half() * norm_.saved_per_row + M * (kind_.norms_heads() ? n + k : 0) + M * n;
    return rows_.element_bytes * (m * D * kind_.norms_of_half() + M * ((n + 2 * k) * H + n * H + qkv().rank + o().rank) + again) + 4 * statistics;
  }
  // Kept: the stream, the first projection; the norm. Computed again: outputs of norm and activation.
  std::int64_t feed_forward_whole(bool all) const {
    const std::int64_t M = rows_.M, m = rows_.m;
    const std::int64_t again = all ? m * up().if_gradient(D) + M * down().if_gradient(f) : 0;
    return rows_.element_bytes * (m * D * kind_.norms_of_half() + M * (kind_.activation_inputs() * f + up().rank + down().rank) + again) +
           4 * m * kind_.norms_of_half() * norm_.saved_per_row;
  }

  // For projections with a gradient: the gradient of their outputs, and their inputs; the norms' gradients.
  std::int64_t attention_half() const {
    const std::int64_t of_all_rows = qkv().if_gradient((n + 2 * k) * H) + o().if_gradient(D + n * H);
    const std::int64_t norms = use_.own ? kind_.norms_of_half() * norm_.elements + (kind_.norms_heads() ? 2 * H : 0) : 0;
    return half_of(of_all_rows + 2 * (qkv().rank + o().rank), qkv().if_gradient(D), norms);
  }
  std::int64_t feed_forward_half() const {
    const std::int64_t of_all_rows = up().if_gradient(kind_.activation_inputs() * f) + down().if_gradient(D + f);
    return half_of(of_all_rows + 2 * (up().rank + down().rank), up().if_gradient(D), use_.own ? kind_.norms_of_half() * norm_.elements : 0);
  }
  std::int64_t half_of(std::int64_t of_all_rows, std::int64_t of_own_rows, std::int64_t norms) const {
    return rows_.element_bytes * (rows_.M * of_all_rows + rows_.m * of_own_rows) + 4 * norms;
  }

  const ProjectionUse& qkv() const { return use_.of(FusedProjection::queries_keys_values); }
  const ProjectionUse& o() const { return use_.of(FusedProjection::attention_output); }
  const ProjectionUse& up() const { return use_.of(FusedProjection::feed_forward_input); }
  const ProjectionUse& down() const { return use_.of(FusedProjection::feed_forward_output); }

  const BlockKind kind_;
  const Rows& rows_;
  const BlockUse use_;
  const NormSizes norm_;
  const std::int64_t D, H, n, k, f;
};

struct HeadBytes {
  std::int64_t whole = 0, half = 0;
};

HeadBytes head_saved_bytes(const config::ModelSettings& model, const Rows& rows, std::int64_t with_loss, int parts,
                           SavedActivations saved, bool trained) {
  const auto [M, m, element_bytes, widths] = rows;
  const NormSizes norm = norm_sizes(architecture_of(model), model.hidden);
  const std::int64_t D = model.hidden, v = widths.vocab.count, statistics = 4 * m * norm.saved_per_row;
  const OutputLossShape loss{
      M, D, v, parts, element_bytes, trained ? OutputLossShape::Weight::trained : OutputLossShape::Weight::frozen};
  HeadBytes bytes;
  if (output_loss_keep(loss) == LossKeep::gradients) {
    const std::int64_t dw = loss.weight_gradient_bytes();
    bytes = {element_bytes * (m * D + with_loss * D) + dw + statistics, dw + statistics + 4 * norm.elements};
  } else {
    const std::int64_t normed = saved == SavedActivations::all && trained ? m * D : 0;
    const std::int64_t half_lse = element_bytes == 4 ? 0 : 4 * with_loss;  // kernels::OutputLossSaved::part_lse_M
    bytes = {element_bytes * (m * D + normed + with_loss * v) + statistics + 4 * with_loss + half_lse,
             element_bytes * (m * D + with_loss * v) + statistics + 4 * norm.elements};
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
  std::vector<double> costs(static_cast<std::size_t>(segment_count(m)));
  for (int segment = 1; segment <= m.layers; ++segment) {
    const BlockKind kind = block_kind(m, segment);
    const double T = static_cast<double>(seq_len);
    double block = kind.attends() ? 2 * NH * seen_pairs(m, kind, T, T * T) / T : 0;
    for (const Product& product : block_products(m, kind)) block += product.weights();
    costs[static_cast<std::size_t>(segment)] = block;
  }
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
  const std::int64_t M = microbatch.rows.M;
  const Rows rows{M, rows_between_operations(M, microbatch.share, microbatch.sequence).count,
                  bytes_of(microbatch.precision), local_widths(model, microbatch.share)};
  const auto block = [&](std::size_t segment) { return BlockBytes(model, rows, static_cast<int>(segment), trained); };
  SavedBytes bytes;
  bytes.half.assign(segments, 0);
  for (std::size_t i = 1; i + 1 < segments; ++i) bytes.half[i] = block(i).half();
  bytes.half.front() = rows.element_bytes * rows.m * model.hidden;
  const HeadBytes head =
      head_saved_bytes(model, rows, microbatch.rows.with_loss, microbatch.share.size, saved, trained.own(static_cast<int>(segments) - 1));
  bytes.half.back() = head.half;
  bytes.whole.assign(segments, 0);
  if (saved == SavedActivations::none) return bytes;
  for (std::size_t i = 1; i + 1 < segments; ++i) bytes.whole[i] = block(i).whole(saved);
  bytes.whole.back() = head.whole;
  return bytes;
}

std::int64_t block_backward_bytes(const config::ModelSettings& model, const BlockKind& kind,
                                  const MicrobatchShape& microbatch, base::Repeatable repeatable) {
  const LocalWidths widths = local_widths(model, microbatch.share);
  const std::int64_t M = microbatch.rows.M, T = microbatch.rows.longest, B = (M - 1) / T + 1, H = model.head_dim, n = widths.heads.count,
                     k = widths.kv_heads.count, f = widths.ffn.count, element_bytes = bytes_of(microbatch.precision);
  const std::int64_t feed_forward = element_bytes * M * (kind.activation_inputs() + 1) * f;
  if (!kind.attends()) return feed_forward;
  std::int64_t attention = 2 * scores_bytes(n, T, T) + M * 2 * k * H * 4;
  if (microbatch.precision != config::Precision::fp32 && n % k == 0 && flash_fits(repeatable, T, T))
    attention = std::max(attention, flash_bytes(flash_piece({B, n, k, T, T, H}, repeatable), repeatable));
  return std::max(feed_forward, attention + element_bytes * M * (f + n * H + model.hidden));
}

}  // namespace troika::shape
