// The loss of rows of logits: over the rows, the sum of a weight times a term, divided by one integer that all ranks add up
// (LossSum::tokens). What a row's term needs of the whole vocabulary, parts of it join (OutputLossPart). A further loss is a word of
// config::Loss, a class in a file of its own and a line in row_loss().
// Shapes: M rows, v columns of a part of the vocabulary. fp32 where nothing else is said.
#pragma once

#include <memory>

#include "config/choices.h"
#include "tensor/tensor.h"

namespace troika::kernels {

// The results for one part of the vocabulary, or for all of it.
struct OutputLossPart {
  tensor::Tensor lse_M;     // log-sum-exp of the logits over this part of the vocabulary
  tensor::Tensor target_M;  // the target's logit where the target lies in this part, else 0
};

// Logits to differentiate by. A row is contiguous, rows may be further apart than v.
struct LossRows {
  tensor::Tensor logits_Mv;    // fp32 or halves; each row perhaps less a number
  tensor::Tensor lse_M;        // over the whole vocabulary
  tensor::Tensor kept_lse_M;   // the same of logits_Mv: less that number
  tensor::Tensor column_M;     // int64, the target's; outside [0, v): in another part
  tensor::Tensor weight_M;     // weights()
};

// Called for each chunk of rows, never for a row.
class RowLoss {
 public:
  virtual ~RowLoss() = default;

  // scale * the weight of each row; 0 of those that carry no loss. targets_M int64, of the whole vocabulary.
  virtual tensor::Tensor weights(const tensor::Tensor& targets_M, double scale) const = 0;
  // fp64 on the device, [2]: the sum of weight * term, and the integer that it is divided by.
  virtual tensor::Tensor sum(const OutputLossPart& whole, const tensor::Tensor& targets_M) const = 0;
  // The gradient of the sum of weight_M * term, rounded to `dtype`. It may lie where the logits lay, which are gone.
  virtual tensor::Tensor gradient(const LossRows& rows, tensor::Dtype dtype) const = 0;
};

std::unique_ptr<const RowLoss> row_loss(config::Loss loss);

}  // namespace troika::kernels
