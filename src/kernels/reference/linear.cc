#include <ATen/ATen.h>
#include <torch/version.h>

#include "kernels/precision.h"
#include "kernels/reference/reference.h"

namespace troika::kernels::reference {
namespace {

bool multiplies_halves(const at::Tensor& x) { return !x.is_cpu() && x.scalar_type() != at::kFloat; }

// out = a b, out in fp32 whatever a and b are.
void multiply_into_float(at::Tensor out, const at::Tensor& a, const at::Tensor& b) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 8)
  if (a.is_cuda() && multiplies_halves(a)) {
    at::mm_out(out, a, b, at::kFloat);
    return;
  }
#endif
  at::mm_out(out, to_float(a), to_float(b));
}

}  // namespace

at::Tensor linear_forward(const at::Tensor& x_MI, const at::Tensor& w_OI, const at::Tensor& bias_O) {
  if (multiplies_halves(x_MI)) {
    at::Tensor y_MO = at::mm(x_MI, w_OI.t());
    return bias_O.defined() ? y_MO.add_(bias_O) : y_MO;
  }
  at::Tensor y_MO = at::mm(to_float(x_MI), to_float(w_OI).t());
  if (bias_O.defined()) y_MO.add_(bias_O);
  return to_dtype_of(x_MI, y_MO);
}

void linear_forward_float(const at::Tensor& x_MI, const at::Tensor& w_OI, const at::Tensor& y_MO) {
  multiply_into_float(y_MO, x_MI, w_OI.t());
}

at::Tensor linear_backward_input(const at::Tensor& dy_MO, const at::Tensor& w_OI) {
  if (multiplies_halves(dy_MO)) return at::mm(dy_MO, w_OI);
  return to_dtype_of(dy_MO, at::mm(to_float(dy_MO), to_float(w_OI)));
}

void linear_backward_weight(const at::Tensor& dy_MO, const at::Tensor& x_MI, const at::Tensor& dw_OI) {
  multiply_into_float(dw_OI, dy_MO.t(), x_MI);
}

void linear_backward_weight_add(const at::Tensor& dy_MO, const at::Tensor& x_MI, const at::Tensor& dw_OI) {
  const at::Tensor more_OI = at::empty(dw_OI.sizes(), dw_OI.options());
  multiply_into_float(more_OI, dy_MO.t(), x_MI);
  at::Tensor dw = dw_OI;
  dw.add_(more_OI);
}

void linear_backward_bias(const at::Tensor& dy_MO, const at::Tensor& dbias_O) {
  at::Tensor dbias = dbias_O;
  at::sum_out(dbias, to_float(dy_MO), at::IntArrayRef{0}, false);
}

}  // namespace troika::kernels::reference
