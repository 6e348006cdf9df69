// What each segment costs, from numbers alone.
#include <array>

#include "config/lora.h"
#include "kernels/output_loss.h"
#include "model/activation.h"
#include "model/adapter.h"
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

// How many of a product's adapters there are, and whether a backward reads its x and dy.
struct ProductUse {
  std::int64_t adapters = 0;
  bool has_gradient = false;
  std::int64_t if_gradient(std::int64_t width) const { return has_gradient ? width : 0; }
};

struct BlockUse {
  bool own = true;  // the block's own weights are trained
  std::int64_t rank = 0;
  std::array<ProductUse, 4> products;
  const ProductUse& of(AdaptedProduct product) const { return products[static_cast<std::size_t>(product)]; }
  std::int64_t adapted_width() const {  // of dropout(x) A^T of all products
    std::int64_t sum = 0;
    for (const ProductUse& use : products) sum += use.adapters;
    return sum * rank;
  }
};

BlockUse block_use(const Trained& trained, int segment) {
  BlockUse use;
  use.own = trained.own(segment);
  use.rank = trained.lora.rank;
  if (has_adapters(trained.lora)) {
    for (const std::string& target : config::lora_targets(trained.lora))
      ++use.products[static_cast<std::size_t>(product_of(target))].adapters;
  }
  for (ProductUse& product : use.products) product.has_gradient = use.own || product.adapters > 0;
  return use;
}

// Forward, backward to the input and backward to the weights take about the same time each.
double share_of_passes(const Trained& trained, int segment, int first_trained) {
  const bool backward = segment >= first_trained;
  return backward && trained.own(segment) ? 1 : (backward ? 2.0 : 1.0) / 3;
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
  const double KH = static_cast<double>(m.kv_heads * m.head_dim), F = static_cast<double>(m.ffn);
  const double products = static_cast<double>(1 + shape_of(m).inputs);
  const double block = D * (NH + 2 * KH) + NH * D + products * D * F + 2 * NH * static_cast<double>(seq_len);
  std::vector<double> costs(static_cast<std::size_t>(segment_count(m)), block);
  costs.front() = D;  // a look-up
  costs.back() = D * static_cast<double>(m.vocab);
  const int first = first_trained_segment(m, trained);
  for (int segment = 0; segment < segment_count(m); ++segment)
    costs[static_cast<std::size_t>(segment)] *= share_of_passes(trained, segment, first);
  return costs;
}

// Shapes: M rows of a microbatch, m those that this rank keeps between split operations.
static std::int64_t block_saved_bytes(const config::ModelSettings& model, std::int64_t M, std::int64_t m,
                                      const LocalWidths& widths, Keep keep, std::int64_t bytes_per_element,
                                      const BlockUse& use) {
  const std::int64_t n = widths.heads.count, k = widths.kv_heads.count, H = model.head_dim, f = widths.ffn.count;
  const Shape shape = shape_of(model);
  const std::int64_t stream = 2 * model.hidden;  // x and mid
  const std::int64_t products =
      (n + 2 * k) * H + n * H + shape.inputs * f;  // q k v, attention's out, the first product
  // Of norms, of normed heads; log-sum-exp.
  const std::int64_t statistics = 4 * (m * 2 * shape.norm_saved + M * shape.normed_heads * (n + k) + M * n);
  // Again from these: outputs of the two norms; rotated q and k; the activation.
  const std::int64_t normed = use.of(AdaptedProduct::queries_keys_values).if_gradient(model.hidden) +
                              use.of(AdaptedProduct::feed_forward_input).if_gradient(model.hidden);
  const std::int64_t hidden = use.of(AdaptedProduct::feed_forward_output).if_gradient(f);
  const std::int64_t again = keep == Keep::lean ? 0 : m * normed + M * (shape.rotated * (n + k) * H + hidden);
  return bytes_per_element * (m * stream + M * (products + use.adapted_width()) + again) + statistics;
}

// Of products with a gradient: that of their outputs, and what they were multiplied with; the norms' gradients.
static std::int64_t block_half_bytes(const config::ModelSettings& model, std::int64_t M, std::int64_t m,
                                     const LocalWidths& widths, std::int64_t bytes_per_element, const BlockUse& use) {
  const std::int64_t n = widths.heads.count, k = widths.kv_heads.count, H = model.head_dim, f = widths.ffn.count;
  const Shape shape = shape_of(model);
  const ProductUse &qkv = use.of(AdaptedProduct::queries_keys_values), &o = use.of(AdaptedProduct::attention_output);
  const ProductUse &up = use.of(AdaptedProduct::feed_forward_input),
                   &down = use.of(AdaptedProduct::feed_forward_output);
  const std::int64_t D = model.hidden;
  const std::int64_t of_all_rows = qkv.if_gradient((n + 2 * k) * H) + o.if_gradient(D + n * H) +
                                   up.if_gradient(shape.inputs * f) + down.if_gradient(D + f);
  const std::int64_t norms = use.own ? 2 * shape.norm_elements + shape.normed_heads * 2 * H : 0;
  return bytes_per_element *
             (M * (of_all_rows + 2 * use.adapted_width()) + m * (qkv.if_gradient(D) + up.if_gradient(D))) +
         4 * norms;
}

struct HeadBytes {
  std::int64_t whole = 0, half = 0;
};

static HeadBytes head_saved_bytes(const config::ModelSettings& model, std::int64_t M, std::int64_t m, std::int64_t v,
                                  int parts, Keep keep, std::int64_t bytes_per_element, bool trained) {
  const Shape shape = shape_of(model);
  const std::int64_t D = model.hidden, statistics = 4 * m * shape.norm_saved;
  const auto wanted = trained ? kernels::LossGradients::input_and_weight : kernels::LossGradients::input;
  HeadBytes bytes;
  if (kernels::output_loss_keep(M, D, v, parts, bytes_per_element, wanted) == kernels::LossKeep::gradients) {
    const std::int64_t dw = trained ? 4 * v * D : 0;
    bytes = {bytes_per_element * (m * D + M * D) + dw + statistics, dw + statistics + 4 * shape.norm_elements};
  } else {
    const std::int64_t normed = keep == Keep::lean || !trained ? 0 : m * D;
    const std::int64_t half_lse = bytes_per_element == 4 ? 0 : 4 * M;  // kernels::OutputLossSaved::part_lse_M
    bytes = {bytes_per_element * (m * D + normed + M * v) + statistics + 4 * M + half_lse,
             bytes_per_element * (m * D + M * v) + statistics + 4 * shape.norm_elements};
  }
  if (!trained) bytes.half = 0;
  return bytes;
}

SavedBytes segment_saved_bytes(const config::ModelSettings& model, std::int64_t B, std::int64_t T,
                               const TensorShare& share, sharding::SequenceParallel split, Keep keep,
                               std::int64_t bytes_per_element, const Trained& trained) {
  const auto segments = static_cast<std::size_t>(segment_count(model));
  const LocalWidths widths = local_widths(model, share);
  const std::int64_t M = B * T, D = model.hidden;
  const std::int64_t m =
      split == sharding::SequenceParallel::on ? sharding::part_of(M, share.rank, share.size).count : M;
  SavedBytes bytes;
  const auto use_of = [&](std::size_t segment) { return block_use(trained, static_cast<int>(segment)); };
  bytes.half.assign(segments, 0);
  for (std::size_t i = 1; i + 1 < segments; ++i)
    bytes.half[i] = block_half_bytes(model, M, m, widths, bytes_per_element, use_of(i));
  bytes.half.front() = bytes_per_element * m * D;
  const HeadBytes head = head_saved_bytes(model, M, m, widths.vocab.count, share.size, keep, bytes_per_element,
                                          trained.own(static_cast<int>(segments) - 1));
  bytes.half.back() = head.half;
  bytes.whole.assign(segments, 0);
  if (keep == Keep::nothing) return bytes;
  for (std::size_t i = 1; i + 1 < segments; ++i)
    bytes.whole[i] = block_saved_bytes(model, M, m, widths, keep, bytes_per_element, use_of(i));
  bytes.whole.back() = head.whole;
  return bytes;
}

}  // namespace troika::model
