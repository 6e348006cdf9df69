#include "shape/operation_costs.h"

#include <algorithm>
#include <utility>

#include "shape/gpu_chunks.h"
#include "shape/layout.h"

namespace troika::shape {
namespace {

double real(std::int64_t x) { return static_cast<double>(x); }

// Bytes of an element.
constexpr double fp32_bytes = 4, int64_bytes = 8;

// Sizes of one microbatch on one rank.
struct CostSizes {
  double M, m, D, q, kv, F, v, squares;
  double e;  // bytes of an element
};

CostSizes cost_sizes(const config::ModelSettings& model, const MicrobatchShape& microbatch) {
  const LocalWidths widths = local_widths(model, microbatch.share);
  const std::int64_t M = microbatch.rows.M;
  const Range own = rows_between_operations(M, microbatch.share, microbatch.sequence);
  return {real(M),
          real(own.count),
          real(model.hidden),
          real(widths.heads.count * model.head_dim),
          real(widths.kv_heads.count * model.head_dim),
          real(widths.ffn.count),
          real(widths.vocab.count),
          microbatch.rows.squares,
          real(config::bytes_of(microbatch.precision))};
}

class CostRows {
 public:
  void add(Operation operation, Pass pass, Work work) { rows_.push_back({operation, pass, work}); }
  void move(Operation operation, Pass pass, double bytes) { add(operation, pass, {0, bytes}); }
  std::vector<OperationCost> take() { return std::move(rows_); }
  template <class Before>
  std::vector<OperationCost> sorted(Before before) {
    std::stable_sort(rows_.begin(), rows_.end(), before);
    return take();
  }

 private:
  std::vector<OperationCost> rows_;
};

double halves(const BlockKind& kind) { return kind.attends() ? 2 : 1; }

// Elements of a block's outputs that get a bias behind the sum over tensor-parallel ranks, so behind the product.
double biased_sums(const Architecture& architecture, const BlockKind& kind, const CostSizes& s) {
  return architecture.bias == Architecture::Bias::everywhere ? halves(kind) * s.m * s.D : 0;
}

// Elements of a block's outputs that get a bias, over all rows.
double biased_elements(const Architecture& architecture, const BlockKind& kind, const CostSizes& s) {
  const double qkv = kind.attends() ? s.M * (s.q + 2 * s.kv) : 0;
  switch (architecture.bias) {
    case Architecture::Bias::none:
      return 0;
    case Architecture::Bias::queries_keys_values:
      return qkv;
    case Architecture::Bias::everywhere:
      return qkv + s.M * real(kind.activation_inputs()) * s.F + biased_sums(architecture, kind, s);
  }
  return 0;
}

double attention_flops(const config::ModelSettings& model, const BlockKind& kind, const CostSizes& s) {
  return 2 * s.q * seen_pairs(model, kind, s.M, s.squares);
}

// Elements of rows that norms behind halves read.
double normed_sums(const BlockKind& kind, const CostSizes& s) { return kind.norms == BlockKind::Norms::around ? halves(kind) * s.m * s.D : 0; }

// Whether the last product of a block adds the residual: a GPU's does where nothing else is added to it.
bool product_adds_residual(const Architecture& architecture, const BlockKind& kind, const MicrobatchShape& microbatch) {
  return kind.norms == BlockKind::Norms::before && microbatch.by == ComputedBy::gpu && microbatch.share.size == 1 && architecture.bias != Architecture::Bias::everywhere;
}

void add_forwards(const config::ModelSettings& model, const BlockKind& kind, const CostSizes& s,
                  const MicrobatchShape& microbatch, const std::vector<Product>& products, CostRows& rows) {
  const Architecture& architecture = architecture_of(model);
  const double inputs = real(kind.activation_inputs());
  // The sum before the second norm is made with it, the one before the next block's is not.
  const bool by_product = product_adds_residual(architecture, kind, microbatch);
  rows.move(Operation::add_norm, Pass::forward,
            ((kind.attends() ? 4 : 0) + (by_product ? 0 : 3) + 2) * s.e * s.m * s.D + 2 * s.e * normed_sums(kind, s));
  for (const Product& product : products) {
    Work work = product_forward(product, static_cast<std::int64_t>(s.M), static_cast<std::int64_t>(s.e));
    if (by_product && product.operation == Operation::down_product) work.bytes += s.e * s.m * s.D;
    rows.add(product.operation, Pass::forward, work);
  }
  if (kind.rotates()) rows.move(Operation::rotation, Pass::forward, 2 * s.e * s.M * (s.q + s.kv));
  if (kind.attends())
    rows.add(Operation::attention, Pass::forward, {attention_flops(model, kind, s), s.e * s.M * (2 * s.q + 2 * s.kv)});
  rows.move(Operation::activation, Pass::forward, s.e * s.M * s.F * (inputs + 1));
  if (const double biased = biased_sums(architecture, kind, s); biased > 0)
    rows.move(Operation::bias, Pass::forward, 2 * s.e * biased);
}

void add_backwards(const config::ModelSettings& model, const BlockKind& kind, const CostSizes& s,
                   const std::vector<Product>& products, CostRows& rows) {
  const Architecture& architecture = architecture_of(model);
  const double inputs = real(kind.activation_inputs());
  const double arrays_of_rotation = kind.norms_heads() ? 3 : 2;
  const auto M = static_cast<std::int64_t>(s.M), e = static_cast<std::int64_t>(s.e);
  for (const Product& product : products) {
    rows.add(product.operation, Pass::input_gradient, product_forward(product, M, e));
    rows.add(product.operation, Pass::weight_gradient, product_weight_gradient(product, M, e));
  }
  rows.move(Operation::activation, Pass::backward, s.e * s.M * s.F * (2 * inputs + 1));
  if (kind.attends())
    rows.add(Operation::attention, Pass::backward, {2.5 * attention_flops(model, kind, s), s.e * s.M * (4 * s.q + 4 * s.kv)});
  if (kind.rotates()) rows.move(Operation::rotation, Pass::backward, arrays_of_rotation * s.e * s.M * (s.q + s.kv));
  if (const double biased = biased_elements(architecture, kind, s); biased > 0)
    rows.move(Operation::bias, Pass::backward, s.e * biased);
  rows.move(Operation::add_norm, Pass::backward, halves(kind) * 4 * s.e * s.m * s.D + 3 * s.e * normed_sums(kind, s));
}

// Looked up, written and, with learned positions, a second time, with a sum behind it.
void add_embedding(const config::ModelSettings& model, const CostSizes& s, CostRows& rows) {
  const bool learned = architecture_of(model).positions == Architecture::Positions::learned;
  const double positions = learned ? real(model.max_positions) : 0;
  rows.move(Operation::embedding, Pass::forward, s.e * s.M * s.D * (learned ? 7 : 2));
  rows.move(Operation::embedding, Pass::backward,
            s.e * s.M * s.D * (learned ? 2 : 1) + fp32_bytes * (s.v + positions) * s.D);
}

// The projection goes through the rows in chunks; each multiplies with all of the weights.
void add_output(const config::ModelSettings& model, const CostSizes& s, const MicrobatchShape& microbatch,
                CostRows& rows) {
  const auto M = static_cast<std::int64_t>(s.M), D = model.hidden, v = static_cast<std::int64_t>(s.v);
  const OutputLossShape loss{M, D, v, microbatch.share.size, config::bytes_of(microbatch.precision)};
  const bool keeps_gradients = output_loss_keep(loss) == LossKeep::gradients, halves = s.e < fp32_bytes;
  const std::int64_t rows_of_chunk = microbatch.by == ComputedBy::gpu ? logit_chunk_rows(v) : output_loss_chunk_rows(D);
  const std::int64_t with_loss = microbatch.rows.with_loss;
  const double chunks = real((with_loss + rows_of_chunk - 1) / rows_of_chunk), L = real(with_loss);
  const double flops = 2 * L * s.D * s.v, x = s.e * L * s.D, w = s.e * s.v * s.D, dw = fp32_bytes * s.v * s.D;
  const double pieces = real((v + rows_of_table_piece(D) - 1) / rows_of_table_piece(D)), logits = L * s.v;
  rows.add(Operation::output_product, Pass::forward, {flops, x + chunks * w + fp32_bytes * logits});
  rows.add(Operation::output_product, Pass::input_gradient,
           {flops, s.e * logits + (keeps_gradients ? chunks : 1) * w + x});
  // Kept gradients of the weights: written, read and written by each further chunk.
  rows.add(Operation::output_product, Pass::weight_gradient,
           {flops, s.e * logits + (keeps_gradients ? x + (2 * chunks - 1) * dw : pieces * x + dw)});
  rows.move(Operation::cross_entropy, Pass::both, 3 * fp32_bytes * logits);
  if (!halves) return;
  // Kept logits are shifted in place, rounded, widened, and their gradient is rounded; of kept gradients the last alone.
  rows.move(Operation::logits_dtype, Pass::both,
            (keeps_gradients ? fp32_bytes + s.e : 2 * fp32_bytes + 3 * (fp32_bytes + s.e)) * logits);
}

}  // namespace

std::vector<Product> block_products(const config::ModelSettings& model, const BlockKind& kind,
                                    const TensorShare& share) {
  const LocalWidths widths = local_widths(model, share);
  const std::int64_t D = model.hidden, q = widths.heads.count * model.head_dim,
                     kv = widths.kv_heads.count * model.head_dim, F = widths.ffn.count;
  std::vector<Product> products;
  if (kind.attends()) products = {{Operation::qkv_product, D, q + 2 * kv}, {Operation::o_product, q, D}};
  products.push_back({Operation::up_product, D, kind.activation_inputs() * F});
  products.push_back({Operation::down_product, F, D});
  return products;
}

Work product_forward(const Product& product, std::int64_t M, std::int64_t element_bytes) {
  const double rows = real(M) * real(product.inputs + product.outputs);
  return {2 * real(M) * product.weights(), real(element_bytes) * (rows + product.weights())};
}

Work product_weight_gradient(const Product& product, std::int64_t M, std::int64_t element_bytes) {
  const double rows = real(M) * real(product.inputs + product.outputs);
  return {2 * real(M) * product.weights(), real(element_bytes) * rows + fp32_bytes * product.weights()};
}

std::vector<OperationCost> block_operations(const config::ModelSettings& model, const BlockKind& kind,
                                            const MicrobatchShape& microbatch) {
  const CostSizes s = cost_sizes(model, microbatch);
  const std::vector<Product> products = block_products(model, kind, microbatch.share);
  CostRows forwards, backwards;
  add_forwards(model, kind, s, microbatch, products, forwards);
  add_backwards(model, kind, s, products, backwards);
  const auto earlier = [](const OperationCost& a, const OperationCost& b) { return a.operation < b.operation; };
  std::vector<OperationCost> all = forwards.sorted(earlier);
  for (const OperationCost& row : backwards.sorted([&](const auto&a, const auto&b) { return earlier(b, a); }))
    all.push_back(row);
  return all;
}

std::vector<OperationCost> outer_operations(const config::ModelSettings& model, const MicrobatchShape& microbatch) {
  const CostSizes s = cost_sizes(model, microbatch);
  CostRows rows;
  add_embedding(model, s, rows);
  rows.move(Operation::final_norm, Pass::forward, 2 * s.e * s.m * s.D);
  rows.move(Operation::final_norm, Pass::backward, 3 * s.e * s.m * s.D);
  add_output(model, s, microbatch, rows);
  return rows.take();
}

std::vector<OperationCost> update_operations(const std::vector<SummedElements>& ranges, std::int64_t update_bytes) {
  double sum = 0, norm = 0, step = 0;
  for (const SummedElements& range : ranges) {
    const double elements = real(range.elements), leaves = real(range.sum.own_leaves());
    if (range.sum.in_floats() || range.sum.addition == Addition::floats) {  // the first leaf becomes the sum; a product that adds to it reads it, too
      const bool products_add = range.sum.addition != Addition::integers && range.sum.reduction == Reduction::at_end;
      sum += (leaves - 1) * (products_add ? 1 : 3) * fp32_bytes * elements;
      if (!range.sum.in_floats()) sum += (products_add ? 1 : leaves) * (fp32_bytes + int64_bytes) * elements;
    } else {  // the first becomes integers, others are added to them, and the total becomes fp32
      sum += (fp32_bytes + int64_bytes + (leaves - 1) * (fp32_bytes + 2 * int64_bytes) + int64_bytes + fp32_bytes) *
             elements;
    }
    norm += (range.sum.in_floats() ? fp32_bytes : int64_bytes) * elements;
    step += real(update_bytes) * elements;
  }
  return {{Operation::gradient_sum, Pass::both, {0, sum}},
          {Operation::gradient_norm, Pass::both, {0, norm}},
          {Operation::adamw, Pass::both, {0, step}}};
}

std::vector<SummedElements> summed_elements(const config::ModelSettings& model, std::int64_t microbatches, Addition addition) {
  SumShape once, twice;
  once.addition = twice.addition = addition;
  once.shares = twice.shares = {microbatches};
  twice.uses = twice.uses_here = 2;
  const std::int64_t all = parameter_count(model), tied = model.tie_embeddings ? model.vocab * model.hidden : 0;
  std::vector<SummedElements> ranges{{all - tied, once}};
  if (tied > 0) ranges.push_back({tied, twice});
  return ranges;
}

Work total(const std::vector<OperationCost>& operations) {
  Work sum;
  for (const OperationCost& row : operations) {
    sum.flops += row.work.flops;
    sum.bytes += row.work.bytes;
  }
  return sum;
}

}  // namespace troika::shape
