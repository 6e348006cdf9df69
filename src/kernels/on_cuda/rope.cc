#include "cuda/rope.h"

#include <ATen/ATen.h>

#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"
#include "kernels/reference/reference.h"

namespace troika::kernels::on_cuda {
namespace {

// A rotary table. Keeps alive what `rows` points to.
struct DeviceRope {
  explicit DeviceRope(const RopeTable& rope)
      : cos(rope.cos_TI.contiguous()), sin(rope.sin_TI.contiguous()), row(contiguous(rope.row_BT)) {
    rows.cos = cos.data_ptr<float>();
    rows.sin = sin.data_ptr<float>();
    if (row.defined()) rows.row = row.data_ptr<std::int64_t>();
  }
  at::Tensor cos, sin, row;
  cuda::RopeRows rows;
};

at::Tensor heads(const at::Tensor& x_BTnH) { return x_BTnH.stride(3) == 1 ? x_BTnH : x_BTnH.contiguous(); }

void turn(const at::Tensor& x_BTnH, const RopeTable& rope, cuda::Turn turn, const at::Tensor& y_BTnH) {
  const at::Tensor x = heads(x_BTnH);
  const DeviceRope table(rope);
  cuda::rope({dtype_of(x), x.size(0), x.size(1), x.size(2), x.size(3), table.rows}, turn, heads_view<cuda::Heads>(x),
             heads_view<cuda::MutableHeads>(y_BTnH), stream_of(x));
}

cuda::QkNormRope operation(const at::Tensor& x, const at::Tensor& w, const DeviceRope& table) {
  return {dtype_of(x), x.size(0), x.size(1), x.size(2), x.size(3), w.data_ptr(), table.rows};
}

}  // namespace

at::Tensor rope_forward(const at::Tensor& x_BTnH, const RopeTable& rope) {
  const at::Tensor y = at::empty(x_BTnH.sizes(), x_BTnH.options());
  turn(x_BTnH, rope, cuda::Turn::forward, y);
  return y;
}

void rope_backward(const at::Tensor& dy_BTnH, const RopeTable& rope, const at::Tensor& dx_BTnH) {
  turn(dy_BTnH, rope, cuda::Turn::back, dx_BTnH);
}

at::Tensor qk_norm_rope_forward(const at::Tensor& x_BTnH, const at::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved) {
  if (x_BTnH.size(3) > cuda::most_normed_head_width)
    return reference::qk_norm_rope_forward(x_BTnH, w_H, eps, rope, saved);
  const at::Tensor x = heads(x_BTnH), w = w_H.contiguous(), y = at::empty(x.sizes(), x.options());
  const at::Tensor rstd_BTn =
      saved != nullptr ? at::empty(x.sizes().slice(0, 3), x.options().dtype(at::kFloat)) : at::Tensor();
  const DeviceRope table(rope);
  cuda::qk_norm_rope_forward(operation(x, w, table), eps, heads_view<cuda::Heads>(x), heads_view<cuda::MutableHeads>(y),
                             static_cast<float*>(data_of(rstd_BTn)), stream_of(x));
  if (saved != nullptr) saved->rstd_BTn = rstd_BTn;
  return y;
}

void qk_norm_rope_backward(const at::Tensor& dy_BTnH, const at::Tensor& x_BTnH, const at::Tensor& w_H,
                           const RopeTable& rope, const QkNormRopeSaved& saved, const at::Tensor& dx_BTnH,
                           const at::Tensor& dw_H) {
  if (x_BTnH.size(3) > cuda::most_normed_head_width)
    return reference::qk_norm_rope_backward(dy_BTnH, x_BTnH, w_H, rope, saved, dx_BTnH, dw_H);
  const at::Tensor dy = heads(dy_BTnH), x = heads(x_BTnH), w = w_H.contiguous();
  const DeviceRope table(rope);
  const cuda::QkNormRope op = operation(x, w, table);
  const at::Tensor room = workspace(x, cuda::qk_norm_rope_backward_floats(op));
  cuda::qk_norm_rope_backward(op, heads_view<cuda::Heads>(dy), heads_view<cuda::Heads>(x),
                              saved.rstd_BTn.data_ptr<float>(), heads_view<cuda::MutableHeads>(dx_BTnH),
                              dw_H.data_ptr<float>(), room.data_ptr<float>(), stream_of(x));
}

}  // namespace troika::kernels::on_cuda
