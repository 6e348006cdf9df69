// A segment is the smallest piece of the model that the step program can name: the embedding, one block, or final norm
// + head. Forward and backward are written out by hand; nothing here uses autograd. Messages of a tensor- or
// context-parallel group are inside these calls, so all its ranks make them in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/output_loss.h"
#include "shape/segment_costs.h"
#include "sharding/context_group.h"
#include "sharding/leaf_writer.h"
#include "tensor/tensor.h"

namespace troika::model {

// One microbatch's tokens on the device: the M rows that this rank has of its sequences, end to end, and behind them filling, where the
// device wants whole multiples of rows (row_unit). Ranks of one tensor-parallel group are given the same.
struct Tokens {
  tensor::Tensor ids_M;      // int64; undefined, as the targets, on a rank that reads neither
  tensor::Tensor targets_M;  // int64; -100: no loss
  sharding::Sequences sequences;  // whole ones, over all ranks of the context-parallel group
  std::int64_t M = 0;
  tensor::Tensor position_M;  // int64: of every row in its sequence
  // Backward starts from loss_scale / loss_rows: the positions of a full microbatch, the same for all microbatches of a run.
  double loss_scale = 1;
  std::int64_t loss_rows = 1;
  std::int64_t largest_M = 0;  // rows of this rank's largest microbatch, at least M, which decides what the head keeps; 0: M
  std::int64_t step = 0;       // of the optimizer, from 1, as dropout reads it; 0: an evaluation, in which nothing is dropped
};

// Products and plans of a GPU repeat where rows come in multiples of it.
std::int64_t row_unit(const tensor::Device& device);

// Without ids and targets. Rows of filling have position 0.
Tokens lay_out(sharding::Sequences sequences, const sharding::ContextGroup& context, const tensor::Device& device);

// A segment's parameters in the compute dtype, one-dimensional, laid out as segment_layout says; for the head of a tied
// model also what tied_layout describes; for a block with adapters theirs (adapter_layout).
struct SegmentBuffer {
  tensor::Tensor flat, tied, adapter;
};

// The gradients of the same buffers; null: not trained.
struct SegmentLeaves {
  sharding::LeafWriter *flat = nullptr, *tied = nullptr, *adapter = nullptr;
};

// The tensors forward leaves for backward. bytes() shrinks as backward_input drops what backward_weight does not need.
class Saved {
 public:
  virtual ~Saved() = default;
  virtual std::int64_t bytes() const = 0;
};

struct ForwardResult {
  tensor::Tensor y_mD;  // undefined for the head
  // kernels::RowLoss::sum of the head, over the rows of this rank's positions, equal on all tp ranks; undefined elsewhere.
  tensor::Tensor loss_2;
  std::unique_ptr<Saved> saved;
};

// Told the logits of a microbatch's rows, fp32, [M, V] with the vocabulary of all tp ranks, inside the head's forward.
using OnLogits = std::function<void(const tensor::Tensor& logits_MV)>;

// The tensor that crosses a segment boundary is x_mD: the rows that the tensor group says this rank keeps (TensorGroup::rows), in
// the compute dtype. Threads: one rank's thread; Saved belongs to one microbatch.
class Segment {
 public:
  virtual ~Segment() = default;

  // x_mD: input of the segment (undefined for the embedding). With SavedActivations::none `saved` stays null.
  virtual ForwardResult forward(const SegmentBuffer& parameters, const tensor::Tensor& x_mD, const Tokens& tokens,
                                shape::SavedActivations activations) const = 0;

  // dy_mD: gradient of the output (undefined for the head, whose loss is a sum over rows times loss_factor() of
  // segments.h). Returns dx_mD, undefined for the embedding.
  virtual tensor::Tensor backward_input(const SegmentBuffer& parameters, const tensor::Tensor& dy_mD, const Tokens& tokens,
                                        Saved& saved) const = 0;

  // Writes this microbatch's gradient of every trained parameter, in pieces of whole parameters; those open at one time
  // have at most the layout's largest_piece elements. After backward_input. What several tp ranks hold is their sum, with
  // the same bits on each.
  virtual void backward_weight(const SegmentLeaves& leaves, const Tokens& tokens, Saved& saved) const = 0;
};

}  // namespace troika::model
