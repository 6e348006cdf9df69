#include "cuda/activation.h"

#include <ATen/ATen.h>

#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"

namespace troika::kernels::on_cuda {

static cuda::ActivationRows activation_rows(const at::Tensor& x_MF, std::int64_t F) {
  return {dtype_of(x_MF), x_MF.numel() / x_MF.size(-1), F};
}

at::Tensor swiglu_forward(const at::Tensor& gate_up_M2F) {
  const at::Tensor gate_up = gate_up_M2F.contiguous();
  const std::int64_t F = gate_up.size(1) / 2;
  at::Tensor h_MF = at::empty({gate_up.size(0), F}, gate_up.options());
  cuda::swiglu_forward(activation_rows(gate_up, F), gate_up.data_ptr(), h_MF.data_ptr(), stream_of(gate_up));
  return h_MF;
}

at::Tensor swiglu_backward(const at::Tensor& dh_MF, const at::Tensor& gate_up_M2F) {
  const at::Tensor dh = dh_MF.contiguous(), gate_up = gate_up_M2F.contiguous();
  at::Tensor gradient_M2F = at::empty_like(gate_up);
  cuda::swiglu_backward(activation_rows(dh, dh.size(1)), dh.data_ptr(), gate_up.data_ptr(), gradient_M2F.data_ptr(),
                        gradient_M2F.stride(0), stream_of(dh));
  return gradient_M2F;
}

at::Tensor gelu_forward(const at::Tensor& x) {
  const at::Tensor dense = x.contiguous();
  at::Tensor y = at::empty_like(dense);
  cuda::gelu_forward(activation_rows(dense, dense.size(-1)), dense.data_ptr(), y.data_ptr(), stream_of(dense));
  return y;
}

at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& x) {
  const at::Tensor dense_dy = dy.contiguous(), dense_x = x.contiguous();
  at::Tensor dx = at::empty_like(dense_x);
  cuda::gelu_backward(activation_rows(dense_x, dense_x.size(-1)), dense_dy.data_ptr(), dense_x.data_ptr(),
                      dx.data_ptr(), dense_x.size(-1), stream_of(dense_x));
  return dx;
}

}  // namespace troika::kernels::on_cuda
