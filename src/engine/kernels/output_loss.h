// Output projection and a loss of its logits (row_loss.h) in one operation. It goes through the rows in chunks, so that
// logits of all rows exist at once only where forward keeps them for backward. The vocabulary may be split: a part holds the rows
// [first_row, first_row + v) of the projection, and parts meet by log-sum-exp.
// Shapes: M rows, D width, V vocabulary, v >= 1 this part's. Dtypes as in cpu_operands.h; the loss uses fp32 logits.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/row_loss.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::kernels {

// The rows of one chunk: enough to make adding to dw [v, D] cheap beside the GEMMs, at most twice as many logits as dw has
// elements. shape::output_loss_chunk_rows is the same rule. Devices have
// shape::logit_chunk_rows.
std::int64_t output_loss_chunk_rows(std::int64_t D);

// Gradients of what: of a frozen projection, of its input alone.
enum class LossGradients { input_and_weight, input };

// The tensors forward leaves for backward: the logits, or the gradients themselves, which need the whole vocabulary on this rank.
struct OutputLossSaved {
  // The logits, in x's dtype; becomes the logits' gradient in backward_input. Halves are kept less their row's
  // part_lse_M: the likely tokens then lie near 0, where a half is exact enough.
  tensor::Tensor logits_Mv;
  tensor::Tensor part_lse_M;  // fp32; beside halves only, until backward_input
  // Or the gradients.
  tensor::Tensor dx_MD;  // in x's dtype, until backward_input
  tensor::Tensor dw_vD;  // fp32; where it is wanted
  std::int64_t bytes() const;
};

struct LossSum {
  double loss = 0;          // sum over the rows that count
  std::int64_t tokens = 0;  // how many count
};
LossSum read_loss(const tensor::Tensor& sum_2);  // of RowLoss::sum; waits for the device

// targets_M int64, of the whole vocabulary. Keeps the logits in `saved` when it is not null.
OutputLossPart output_loss_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_vD, const tensor::Tensor& targets_M,
                                   std::int64_t first_row, OutputLossSaved* saved);

// Forward of the whole vocabulary that keeps the gradients of scale * the loss's sum.
OutputLossPart output_loss_forward_with_gradients(const RowLoss& loss, const tensor::Tensor& x_MD, const tensor::Tensor& w_vD,
                                                  const tensor::Tensor& targets_M, double scale, OutputLossSaved& saved,
                                                  LossGradients wanted = LossGradients::input_and_weight);

// All parts in the order of their rows, at least one; a single part is returned as it is.
OutputLossPart output_loss_join(const std::vector<OutputLossPart>& parts);

// Gradients of scale * the loss's sum; lse_M is the whole vocabulary's, scale may hold a loss scale (kept gradients
// have theirs already). Returns this part's contribution to dx_MD; afterwards `saved` serves output_loss_backward_weight
// only.
tensor::Tensor output_loss_backward_input(const RowLoss& loss, const tensor::Tensor& w_vD, const tensor::Tensor& targets_M,
                                          std::int64_t first_row, const tensor::Tensor& lse_M, double scale,
                                          OutputLossSaved& saved);
// Writes dw_vD, fp32, or adds to it, in pieces of `piece_rows` rows, the last may have fewer: `open` gives where [first, first + count) go, and
// is asked for the next when they are written. Where the logits were kept; else `saved` has dw_vD already.
using OpenRows = std::function<tensor::Destination(std::int64_t first, std::int64_t count)>;  // dw_cD
void output_loss_backward_weight(const tensor::Tensor& x_MD, const OutputLossSaved& saved, std::int64_t piece_rows,
                                 const OpenRows& open);

}  // namespace troika::kernels
