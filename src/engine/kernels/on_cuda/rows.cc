#include "cuda/activation_dispatch.h"
#include "cuda/norm_dispatch.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {
namespace {

tensor::Tensor statistic(const tensor::Tensor& x_MD) {
  return tensor::empty(x_MD.sizes().slice(0, x_MD.dims() - 1), x_MD.type().of(tensor::Dtype::fp32));
}

// The rows that the kernel reads, or adds to and reads.
cuda::NormInput norm_input(const tensor::Tensor& x_MD, const tensor::Tensor& plus_MD) {
  if (!plus_MD.defined()) return {x_MD.data()};
  return {x_MD.data(), plus_MD.data(), x_MD.data()};
}

}  // namespace

tensor::Tensor rms_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, double eps, RmsNormSaved* saved,
                                const tensor::Tensor& plus_MD, Gain gain) {
  const tensor::Tensor x = x_MD.contiguous(), plus = contiguous(plus_MD), w = w_D.contiguous(),
                       y = tensor::empty_like(x);
  const tensor::Tensor rstd_M = saved != nullptr ? statistic(x) : tensor::Tensor();
  dispatch::rms_norm_forward(OnDevice(x), rows_of(x), norm_input(x, plus), {w.data(), added_to_weight(gain)}, eps, y.data(),
                             static_cast<float*>(data_of(rstd_M)));
  if (saved != nullptr) saved->rstd_M = rstd_M;
  return y;
}

tensor::Tensor rms_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                                 const RmsNormSaved& saved, const tensor::Tensor& dw_D, const tensor::Tensor& plus_MD,
                                 Gain gain) {
  const tensor::Tensor dy = dy_MD.contiguous(), x = x_MD.contiguous(), w = w_D.contiguous(), plus = contiguous(plus_MD);
  const tensor::Tensor dx = tensor::empty_like(x), room = workspace(x, dispatch::rms_norm_backward_floats(rows_of(x)));
  dispatch::rms_norm_backward(OnDevice(x), rows_of(x), dy.data(), x.data(), {w.data(), added_to_weight(gain)}, saved.rstd_M.data<float>(),
                              data_of(plus), dx.data(), dw_D.data<float>(), room.data<float>());
  return dx;
}

tensor::Tensor layer_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, const tensor::Tensor& bias_D,
                                  double eps, LayerNormSaved* saved, const tensor::Tensor& plus_MD) {
  const tensor::Tensor x = x_MD.contiguous(), plus = contiguous(plus_MD), w = w_D.contiguous(),
                       bias = bias_D.contiguous(), y = tensor::empty_like(x);
  LayerNormSaved found;
  if (saved != nullptr) found = {statistic(x), statistic(x)};
  dispatch::layer_norm_forward(OnDevice(x), rows_of(x), norm_input(x, plus), w.data(), bias.data(), eps, y.data(),
                               static_cast<float*>(data_of(found.mean_M)), static_cast<float*>(data_of(found.rstd_M)));
  if (saved != nullptr) *saved = found;
  return y;
}

tensor::Tensor layer_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                                   const LayerNormSaved& saved, const tensor::Tensor& dw_D,
                                   const tensor::Tensor& dbias_D, const tensor::Tensor& plus_MD) {
  const tensor::Tensor dy = dy_MD.contiguous(), x = x_MD.contiguous(), w = w_D.contiguous(), plus = contiguous(plus_MD);
  const tensor::Tensor dx = tensor::empty_like(x),
                       room = workspace(x, dispatch::layer_norm_backward_floats(rows_of(x)));
  dispatch::layer_norm_backward(OnDevice(x), rows_of(x), dy.data(), x.data(), w.data(), saved.mean_M.data<float>(),
                                saved.rstd_M.data<float>(), data_of(plus), dx.data(), dw_D.data<float>(),
                                dbias_D.data<float>(), room.data<float>());
  return dx;
}

static cuda::Gate gate_of(cpu::Gate gate) { return gate == cpu::Gate::silu ? cuda::Gate::silu : cuda::Gate::gelu; }

tensor::Tensor gated_forward(cpu::Gate gate, const tensor::Tensor& gate_up_M2F) {
  const tensor::Tensor gate_up = gate_up_M2F.contiguous();
  const std::int64_t F = gate_up.size(1) / 2;
  tensor::Tensor h_MF = tensor::empty({gate_up.size(0), F}, gate_up.type());
  dispatch::gated_forward(OnDevice(gate_up), gate_of(gate), rows_of(h_MF), gate_up.data(), h_MF.data());
  return h_MF;
}

tensor::Tensor gated_backward(cpu::Gate gate, const tensor::Tensor& dh_MF, const tensor::Tensor& gate_up_M2F) {
  const tensor::Tensor dh = dh_MF.contiguous(), gate_up = gate_up_M2F.contiguous();
  tensor::Tensor gradient_M2F = tensor::empty_like(gate_up);
  dispatch::gated_backward(OnDevice(dh), gate_of(gate), rows_of(dh), dh.data(), gate_up.data(), gradient_M2F.data(),
                            gradient_M2F.stride(0));
  return gradient_M2F;
}

tensor::Tensor gelu_forward(const tensor::Tensor& x) {
  const tensor::Tensor dense = x.contiguous();
  tensor::Tensor y = tensor::empty_like(dense);
  dispatch::gelu_forward(OnDevice(dense), rows_of(dense), dense.data(), y.data());
  return y;
}

tensor::Tensor gelu_backward(const tensor::Tensor& dy, const tensor::Tensor& x) {
  const tensor::Tensor dense_dy = dy.contiguous(), dense_x = x.contiguous();
  tensor::Tensor dx = tensor::empty_like(dense_x);
  dispatch::gelu_backward(OnDevice(dense_x), rows_of(dense_x), dense_dy.data(), dense_x.data(), dx.data(),
                          dense_x.size(-1));
  return dx;
}

tensor::Tensor dropout(const tensor::Tensor& x_MI, const base::Philox& random, const DropoutRows& rows,
                       std::int64_t first_column, const DropoutShare& share) {
  const tensor::Tensor x = x_MI.contiguous(), y = tensor::zeros(x.sizes(), x.type());
  std::int64_t row = 0;
  for (const DropoutRows::Run& run : rows.runs) {
    const cuda::DropoutRows of_kernel{dtype_of(x), run.count, x.size(1), first_column, run.position};
    const cuda::DropoutDraw draw{{random.key()[0], random.key()[1]},
                                 static_cast<std::uint32_t>(run.sample),
                                 static_cast<std::uint32_t>(rows.step),
                                 share.threshold,
                                 share.kept};
    dispatch::dropout(OnDevice(x), of_kernel, draw, x.narrow(0, row, run.count).data(), y.narrow(0, row, run.count).data());
    row += run.count;
  }
  return y;
}

}  // namespace troika::kernels::on_cuda
