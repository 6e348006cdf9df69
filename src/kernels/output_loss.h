// Output projection and cross-entropy in one operation, so that a fast body need not hold all logits.
// Token loss = log sum_v exp(x . w_v) - x . w_target; rows with target -100 carry no loss.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace troika::kernels {

struct OutputLossSaved {
  at::Tensor logits_MV;  // becomes the logits' gradient in backward_input
  std::int64_t bytes() const { return logits_MV.defined() ? static_cast<std::int64_t>(logits_MV.nbytes()) : 0; }
};

struct LossSum {
  double loss = 0;          // sum over the rows that count
  std::int64_t tokens = 0;  // how many count
};

// x_MD, w_VD fp32; targets_M int64. Fills `saved` when it is not null.
LossSum output_loss_forward(const at::Tensor& x_MD, const at::Tensor& w_VD, const at::Tensor& targets_M,
                            OutputLossSaved* saved);

// Gradients of scale * sum of token losses. Returns dx_MD; afterwards `saved` serves output_loss_backward_weight only.
at::Tensor output_loss_backward_input(const at::Tensor& w_VD, const at::Tensor& targets_M, double scale,
                                      OutputLossSaved& saved);
void output_loss_backward_weight(const at::Tensor& x_MD, const OutputLossSaved& saved,
                                 const at::Tensor& dw_VD);  // writes dw

}  // namespace troika::kernels
