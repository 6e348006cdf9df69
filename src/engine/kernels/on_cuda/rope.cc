#include "cuda/rope_dispatch.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {
namespace {

// A rotary table. Keeps alive what `rows` points to.
struct DeviceRope {
  explicit DeviceRope(const RopeTable& rope)
      : cos(rope.cos_TI.contiguous()), sin(rope.sin_TI.contiguous()), row(contiguous(rope.row_BT)) {
    rows.cos = cos.data<float>();
    rows.sin = sin.data<float>();
    if (row.defined()) rows.row = row.data<std::int64_t>();
  }
  tensor::Tensor cos, sin, row;
  cuda::RopeRows rows;
};

tensor::Tensor heads(const tensor::Tensor& x_BTnH) { return x_BTnH.stride(3) == 1 ? x_BTnH : x_BTnH.contiguous(); }

void turn(const tensor::Tensor& x_BTnH, const RopeTable& rope, cuda::Turn turn, const tensor::Tensor& y_BTnH) {
  const tensor::Tensor x = heads(x_BTnH);
  const DeviceRope table(rope);
  dispatch::rope(OnDevice(x), {dtype_of(x), x.size(0), x.size(1), x.size(2), x.size(3), table.rows}, turn, heads_view<cuda::Heads>(x),
             heads_view<cuda::MutableHeads>(y_BTnH));
}

cuda::QkNormRope operation(const tensor::Tensor& x, const tensor::Tensor& w, const DeviceRope& table, Gain gain) {
  return {dtype_of(x), x.size(0), x.size(1), x.size(2), x.size(3), w.data(), added_to_weight(gain), table.rows};
}

}  // namespace

tensor::Tensor rope_forward(const tensor::Tensor& x_BTnH, const RopeTable& rope) {
  const tensor::Tensor y = tensor::empty(x_BTnH.sizes(), x_BTnH.type());
  turn(x_BTnH, rope, cuda::Turn::forward, y);
  return y;
}

void rope_backward(const tensor::Tensor& dy_BTnH, const RopeTable& rope, const tensor::Tensor& dx_BTnH) {
  turn(dy_BTnH, rope, cuda::Turn::back, dx_BTnH);
}

tensor::Tensor qk_norm_rope_forward(const tensor::Tensor& x_BTnH, const tensor::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved, Gain gain) {
  const tensor::Tensor x = heads(x_BTnH), w = w_H.contiguous(), y = tensor::empty(x.sizes(), x.type());
  const tensor::Tensor rstd_BTn =
      saved != nullptr ? tensor::empty(x.sizes().slice(0, 3), x.type().of(tensor::Dtype::fp32)) : tensor::Tensor();
  const DeviceRope table(rope);
  dispatch::qk_norm_rope_forward(OnDevice(x), operation(x, w, table, gain), eps, heads_view<cuda::Heads>(x), heads_view<cuda::MutableHeads>(y),
                             static_cast<float*>(data_of(rstd_BTn)));
  if (saved != nullptr) saved->rstd_BTn = rstd_BTn;
  return y;
}

void qk_norm_rope_backward(const tensor::Tensor& dy_BTnH, const tensor::Tensor& x_BTnH, const tensor::Tensor& w_H,
                           const RopeTable& rope, const QkNormRopeSaved& saved, const tensor::Tensor& dx_BTnH,
                           const tensor::Tensor& dw_H, Gain gain) {
  const tensor::Tensor dy = heads(dy_BTnH), x = heads(x_BTnH), w = w_H.contiguous();
  const DeviceRope table(rope);
  const cuda::QkNormRope op = operation(x, w, table, gain);
  const tensor::Tensor room = workspace(x, dispatch::qk_norm_rope_backward_floats(op));
  dispatch::qk_norm_rope_backward(OnDevice(x), op, heads_view<cuda::Heads>(dy), heads_view<cuda::Heads>(x),
                              saved.rstd_BTn.data<float>(), heads_view<cuda::MutableHeads>(dx_BTnH),
                              dw_H.data<float>(), room.data<float>());
}

}  // namespace troika::kernels::on_cuda
