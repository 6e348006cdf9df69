#include "kernels/linear.h"

#include <ATen/ATen.h>

#include <optional>

#include "cpu/few_rows.h"
#include "cpu/gemm.h"
#include "cpu/row_sums.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {

static_assert(independent_rows <= cpu::few_rows);

namespace {

// Whether elements of a row, or of a column, are adjacent and rows (columns) do not overlap.
bool is_matrix(const at::Tensor& x) {
  const auto stored_by = [&](std::int64_t across, std::int64_t along) {
    return x.stride(along) == 1 && (x.size(across) <= 1 || x.stride(across) >= x.size(along));
  };
  return stored_by(0, 1) || stored_by(1, 0);
}

// In fp32.
at::Tensor linear_operand(const at::Tensor& x) {
  const at::Tensor xf = to_float(x);
  return is_matrix(xf) ? xf : xf.contiguous();
}

cpu::Matrix matrix(const at::Tensor& x) { return {x.data_ptr<float>(), x.stride(0), x.stride(1)}; }

// out = addend + a b. Where out's columns are contiguous, its transpose is computed.
void multiply(const at::Tensor& a_in, const at::Tensor& b_in, const at::Tensor& out, const cpu::Addend& addend = {}) {
  const at::Tensor a = linear_operand(a_in), b = linear_operand(b_in);
  const std::int64_t M = a.size(0), N = b.size(1), K = a.size(1);
  if (out.stride(1) == 1) {
    cpu::gemm(M, N, K, matrix(a), matrix(b), out.data_ptr<float>(), out.stride(0), addend);
  } else {
    cpu::gemm(N, M, K, matrix(b.t()), matrix(a.t()), out.data_ptr<float>(), out.stride(1), addend);
  }
}

// The weight as few_rows.h reads it; nothing when its elements do not all follow each other.
std::optional<cpu::Weight> dense_weight(const at::Tensor& w_OI) {
  cpu::Weight w;
  w.element = w_OI.scalar_type() == at::kBFloat16 ? cpu::Weight::Element::bf16
              : w_OI.scalar_type() == at::kHalf   ? cpu::Weight::Element::fp16
                                                  : cpu::Weight::Element::fp32;
  w.order = w_OI.is_contiguous() ? cpu::Weight::Order::out_in : cpu::Weight::Order::in_out;
  w.O = w_OI.size(0);
  w.I = w_OI.size(1);
  w.data = w_OI.data_ptr();
  return w_OI.is_contiguous() || w_OI.t().is_contiguous() ? std::optional(w) : std::nullopt;
}

// y = x w^T + addend's row, where there are few rows; whether it was done.
bool multiply_few_rows(const at::Tensor& x_MI, const at::Tensor& w_OI, const at::Tensor& y_MO,
                       const cpu::Addend& addend = {}) {
  if (x_MI.size(0) > cpu::few_rows || (y_MO.size(1) > 1 && y_MO.stride(1) != 1)) return false;
  const auto weight = dense_weight(w_OI);
  if (!weight) return false;
  const at::Tensor x = to_float(x_MI).contiguous();
  cpu::multiply_few_rows(x.size(0), x.data_ptr<float>(), *weight, addend.row, y_MO.data_ptr<float>(), y_MO.stride(0));
  return true;
}

at::Tensor empty_float(const at::Tensor& like, std::int64_t rows, std::int64_t columns) {
  return at::empty({rows, columns}, like.options().dtype(at::kFloat));
}

}  // namespace

at::Tensor linear_forward(const at::Tensor& x_MI, const at::Tensor& w_OI, const at::Tensor& bias_O) {
  if (x_MI.is_cpu()) {
    const at::Tensor y_MO = empty_float(x_MI, x_MI.size(0), w_OI.size(0));
    cpu::Addend addend;
    at::Tensor bias_float_O;
    if (bias_O.defined()) {
      bias_float_O = to_float(bias_O);
      addend = {cpu::Addend::Kind::row, bias_float_O.data_ptr<float>()};
    }
    if (!multiply_few_rows(x_MI, w_OI, y_MO, addend)) multiply(x_MI, w_OI.t(), y_MO, addend);
    return to_dtype_of(x_MI, y_MO);
  }
  return reference::linear_forward(x_MI, w_OI, bias_O);
}

void linear_forward_float(const at::Tensor& x_MI, const at::Tensor& w_OI, const at::Tensor& y_MO) {
  if (x_MI.is_cpu()) {
    if (!multiply_few_rows(x_MI, w_OI, y_MO)) multiply(x_MI, w_OI.t(), y_MO);
    return;
  }
  reference::linear_forward_float(x_MI, w_OI, y_MO);
}

at::Tensor linear_backward_input(const at::Tensor& dy_MO, const at::Tensor& w_OI) {
  if (dy_MO.is_cpu()) {
    const at::Tensor dx_MI = empty_float(dy_MO, dy_MO.size(0), w_OI.size(1));
    multiply(dy_MO, w_OI, dx_MI);
    return to_dtype_of(dy_MO, dx_MI);
  }
  return reference::linear_backward_input(dy_MO, w_OI);
}

void linear_backward_weight(const at::Tensor& dy_MO, const at::Tensor& x_MI, const at::Tensor& dw_OI) {
  if (dy_MO.is_cpu()) return multiply(dy_MO.t(), x_MI, dw_OI);
  reference::linear_backward_weight(dy_MO, x_MI, dw_OI);
}

void linear_backward_weight_add(const at::Tensor& dy_MO, const at::Tensor& x_MI, const at::Tensor& dw_OI) {
  if (dy_MO.is_cpu()) return multiply(dy_MO.t(), x_MI, dw_OI, {cpu::Addend::Kind::output, nullptr});
  reference::linear_backward_weight_add(dy_MO, x_MI, dw_OI);
}

void linear_backward_bias(const at::Tensor& dy_MO, const at::Tensor& dbias_O) {
  if (dy_MO.is_cpu()) {
    const at::Tensor dyf = to_float(dy_MO), dy = dyf.stride(1) == 1 ? dyf : dyf.contiguous();
    return cpu::column_sums(dy.size(0), dy.size(1), dy.data_ptr<float>(), dy.stride(0), dbias_O.data_ptr<float>());
  }
  if constexpr (has_cuda_kernels) {
    if (dy_MO.is_cuda()) return on_cuda::linear_backward_bias(dy_MO, dbias_O);
  }
  reference::linear_backward_bias(dy_MO, dbias_O);
}

at::Tensor empty_spaced_rows(std::int64_t rows, std::int64_t columns, const c10::Device& device) {
  constexpr std::int64_t line = 16, power = 256;  // fp32 elements
  const std::int64_t whole = (columns + line - 1) / line * line, apart = whole % power == 0 ? whole + line : whole;
  const auto options = at::TensorOptions().dtype(at::kFloat).device(device);
  return at::empty({rows, apart}, options).narrow(1, 0, columns);
}

}  // namespace troika::kernels
