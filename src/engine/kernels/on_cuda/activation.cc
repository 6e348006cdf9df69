#include "cuda/activation_dispatch.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {

static cuda::ActivationRows activation_rows(const tensor::Tensor& x_MF, std::int64_t F) {
  return {dtype_of(x_MF), x_MF.elements() / x_MF.size(-1), F};
}

tensor::Tensor swiglu_forward(const tensor::Tensor& gate_up_M2F) {
  const tensor::Tensor gate_up = gate_up_M2F.contiguous();
  const std::int64_t F = gate_up.size(1) / 2;
  tensor::Tensor h_MF = tensor::empty({gate_up.size(0), F}, gate_up.type());
  dispatch::swiglu_forward(OnDevice(gate_up), activation_rows(gate_up, F), gate_up.data(), h_MF.data());
  return h_MF;
}

tensor::Tensor swiglu_backward(const tensor::Tensor& dh_MF, const tensor::Tensor& gate_up_M2F) {
  const tensor::Tensor dh = dh_MF.contiguous(), gate_up = gate_up_M2F.contiguous();
  tensor::Tensor gradient_M2F = tensor::empty_like(gate_up);
  dispatch::swiglu_backward(OnDevice(dh), activation_rows(dh, dh.size(1)), dh.data(), gate_up.data(), gradient_M2F.data(),
                        gradient_M2F.stride(0));
  return gradient_M2F;
}

tensor::Tensor gelu_forward(const tensor::Tensor& x) {
  const tensor::Tensor dense = x.contiguous();
  tensor::Tensor y = tensor::empty_like(dense);
  dispatch::gelu_forward(OnDevice(dense), activation_rows(dense, dense.size(-1)), dense.data(), y.data());
  return y;
}

tensor::Tensor gelu_backward(const tensor::Tensor& dy, const tensor::Tensor& x) {
  const tensor::Tensor dense_dy = dy.contiguous(), dense_x = x.contiguous();
  tensor::Tensor dx = tensor::empty_like(dense_x);
  dispatch::gelu_backward(OnDevice(dense_x), activation_rows(dense_x, dense_x.size(-1)), dense_dy.data(), dense_x.data(),
                      dx.data(), dense_x.size(-1));
  return dx;
}

}  // namespace troika::kernels::on_cuda
