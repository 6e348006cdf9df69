#include "kernels/output_loss.h"

#include "kernels/reference/reference.h"

namespace troika::kernels {

OutputLossPart output_loss_forward(const at::Tensor& x_MD, const at::Tensor& w_vD, const at::Tensor& targets_M,
                                   std::int64_t first_row, OutputLossSaved* saved) {
  return reference::output_loss_forward(x_MD, w_vD, targets_M, first_row, saved);
}

OutputLossPart output_loss_join(const std::vector<OutputLossPart>& parts) { return reference::output_loss_join(parts); }

LossSum output_loss_sum(const OutputLossPart& whole, const at::Tensor& targets_M) {
  return reference::output_loss_sum(whole, targets_M);
}

at::Tensor output_loss_backward_input(const at::Tensor& w_vD, const at::Tensor& targets_M, std::int64_t first_row,
                                      const at::Tensor& lse_M, double scale, OutputLossSaved& saved) {
  return reference::output_loss_backward_input(w_vD, targets_M, first_row, lse_M, scale, saved);
}

void output_loss_backward_weight(const at::Tensor& x_MD, const OutputLossSaved& saved, const at::Tensor& dw_vD) {
  return reference::output_loss_backward_weight(x_MD, saved, dw_vD);
}

}  // namespace troika::kernels
