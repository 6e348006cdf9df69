// The FLOPs and bytes of every operation of a training step, from shapes alone: the one place for rooflines and for
// models of time. An operation is a row; its kernels are those of module cuda, which read an array once and write it
// once. Products and attention are counted as one call each, attention without scores in memory.
//
// Counted are activations, weights of products, tables, gradients and optimizer state. Left out, below 2 % of an
// operation's bytes: statistics (4 bytes for each row of a norm, head and query), weights of norms, biases, angles.
// Shapes: M rows of a microbatch, m those that this rank keeps between split operations, D width, q and kv the widths
// of its query and key/value heads, F its feed-forward, v its part of the vocabulary.
#pragma once

#include <cstdint>
#include <vector>

#include "config/settings/settings.h"
#include "shape/architecture.h"
#include "shape/segment_costs.h"
#include "shape/sum_shape.h"

namespace troika::shape {

enum class Operation {
  // of a block
  add_norm,  // the residual's sum and its norm
  qkv_product,
  rotation,  // of queries and keys, their norm with it
  attention,
  o_product,
  up_product,  // gate and up
  activation,
  down_product,
  bias,
  // of a microbatch, outside the blocks
  embedding,
  final_norm,
  output_product,
  cross_entropy,  // log-sum-exp and gradient of fp32 logits
  logits_dtype,   // between the logits' fp32 and a half
  // of a step
  gradient_sum,
  gradient_norm,
  adamw
};

// Products have two halves of a backward, other operations one. both: an operation that is not cut by them.
enum class Pass { forward, backward, input_gradient, weight_gradient, both };

struct Work {
  double flops = 0;  // of matrix products, 2 for a multiplication with its addition
  double bytes = 0;  // read and written
};

struct OperationCost {
  Operation operation;
  Pass pass;
  Work work;  // of all calls
};

// y = x w: rows of `inputs` elements become rows of `outputs`.
struct Product {
  Operation operation;
  std::int64_t inputs, outputs;
  double weights() const { return static_cast<double>(inputs) * static_cast<double>(outputs); }
};
std::vector<Product> block_products(const config::ModelSettings& model, const BlockKind& kind,
                                    const TensorShare& share = {});

// Bytes of an element of activations and weights; gradients of weights are fp32.
Work product_forward(const Product& product, std::int64_t M, std::int64_t element_bytes);
Work product_weight_gradient(const Product& product, std::int64_t M, std::int64_t element_bytes);

// One block on one microbatch, in the order of a step: all forwards, then all backwards. On a GPU the last product adds the
// residual where nothing else is added to it. Sequences are whole: no context parallelism. A query sees half of the keys on
// average; attention's backward multiplies five times where its forward does twice, because it computes the scores again.
std::vector<OperationCost> block_operations(const config::ModelSettings& model, const BlockKind& kind,
                                            const MicrobatchShape& microbatch);

// Embedding, final norm, output projection and loss of one microbatch, in chunks of rows as what computes it cuts them.
// Everything is trained.
std::vector<OperationCost> outer_operations(const config::ModelSettings& model, const MicrobatchShape& microbatch);

// Elements that one rank sums up and updates: those with equal sums.
struct SummedElements {
  std::int64_t elements = 0;
  SumShape sum;
};
// Own leaves on the sum, norm and step, once per step. Without exchanges between ranks. `update_bytes`: of one element
// (OptimizerShape).
std::vector<OperationCost> update_operations(const std::vector<SummedElements>& ranges, std::int64_t update_bytes);

// Those of a model on one device.
std::vector<SummedElements> summed_elements(const config::ModelSettings& model, std::int64_t microbatches,
                                            Addition addition = Addition::integers);

Work total(const std::vector<OperationCost>& operations);

}  // namespace troika::shape
