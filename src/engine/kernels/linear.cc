#include "kernels/linear.h"

#include <optional>

#include "cpu/gemm.h"
#include "cpu/parallel.h"
#include "kernels/cpu_operands.h"
#include "kernels/flat.h"
#include "kernels/on_cuda/on_cuda.h"
#include "tensor/operations.h"

namespace troika::kernels {

static_assert(independent_rows <= cpu::few_rows);

namespace {

// Whether elements of a row, or of a column, are adjacent and rows (columns) do not overlap.
bool is_matrix(const tensor::Tensor& x) {
  const auto stored_by = [&](std::int64_t across, std::int64_t along) {
    return x.stride(along) == 1 && (x.size(across) <= 1 || x.stride(across) >= x.size(along));
  };
  return stored_by(0, 1) || stored_by(1, 0);
}

tensor::Tensor as_matrix(const tensor::Tensor& x) { return is_matrix(x) ? x : x.contiguous(); }

template <class Element>
cpu::MatrixOf<Element> matrix(const tensor::Tensor& x) {
  return {static_cast<const Element*>(x.data()), x.stride(0), x.stride(1)};
}

// The further products of one, of matrices of Element that this keeps.
template <class Element>
class Further {
 public:
  explicit Further(const ColumnProducts& more) {
    for (const ColumnProduct& one : more) {
      const tensor::Tensor a = as_matrix(one.a_MK.to(base::dtype_of<Element>)), b = as_matrix(one.b_KN.to(base::dtype_of<Element>));
      products_.push_back({one.first, b.size(1), a.size(1), matrix<Element>(a), matrix<Element>(b)});
      kept_.insert(kept_.end(), {a, b});
    }
  }
  const cpu::ColumnProducts<Element>& products() const { return products_; }

 private:
  cpu::ColumnProducts<Element> products_;
  std::vector<tensor::Tensor> kept_;
};

// out = addend + a b + more, of matrices of Element. Where out's columns are contiguous, its transpose is computed, of a product alone.
template <class Element, class Result>
void multiply_as(const tensor::Tensor& a, const tensor::Tensor& b, const tensor::Tensor& out, const cpu::Addend& addend,
                 const ColumnProducts& more = {}) {
  const std::int64_t M = a.size(0), N = b.size(1), K = a.size(1);
  auto* const c = static_cast<Result*>(out.data());
  if (out.stride(1) == 1) {
    cpu::gemm(M, N, K, matrix<Element>(a), matrix<Element>(b), c, out.stride(0), addend, Further<Element>(more).products());
  } else {
    cpu::gemm(N, M, K, matrix<Element>(b.t()), matrix<Element>(a.t()), c, out.stride(1), addend);
  }
}

bool multiplies_both(const tensor::Tensor& a, const tensor::Tensor& b) {
  return a.dtype() == tensor::Dtype::bf16 && b.dtype() == tensor::Dtype::bf16 && cpu::multiplies_halves();
}

// out = addend + a b, out in fp32.
void multiply(const tensor::Tensor& a, const tensor::Tensor& b, const tensor::Tensor& out, const cpu::Addend& addend = {},
              const ColumnProducts& more = {}) {
  if (multiplies_both(a, b)) return multiply_as<cpu::Bf16, float>(as_matrix(a), as_matrix(b), out, addend, more);
  multiply_as<float, float>(as_matrix(to_float(a)), as_matrix(to_float(b)), out, addend, more);
}

// The weight as cpu/gemm.h reads it; nothing when its elements do not all follow each other.
std::optional<cpu::Weight> dense_weight(const tensor::Tensor& w_OI) {
  cpu::Weight w;
  w.element = w_OI.dtype();
  w.order = w_OI.is_contiguous() ? cpu::Weight::Order::out_in : cpu::Weight::Order::in_out;
  w.O = w_OI.size(0);
  w.I = w_OI.size(1);
  w.data = w_OI.data();
  return w_OI.is_contiguous() || w_OI.t().is_contiguous() ? std::optional(w) : std::nullopt;
}

// y = x w^T + addend's row, where there are few rows; whether it was done.
bool multiply_few_rows(const tensor::Tensor& x_MI, const tensor::Tensor& w_OI, const tensor::Tensor& y_MO,
                       const cpu::Addend& addend = {}) {
  if (x_MI.size(0) > cpu::few_rows || (y_MO.size(1) > 1 && y_MO.stride(1) != 1)) return false;
  const auto weight = dense_weight(w_OI);
  if (!weight) return false;
  const tensor::Tensor x = to_float(x_MI).contiguous();
  cpu::multiply_few_rows(x.size(0), x.data<float>(), *weight, addend.row, y_MO.data<float>(), y_MO.stride(0));
  return true;
}

tensor::Tensor empty_float(const tensor::Tensor& like, std::int64_t rows, std::int64_t columns) {
  return tensor::empty({rows, columns}, like.type().of(tensor::Dtype::fp32));
}

}  // namespace

namespace {

// addend + a b + more, in a's dtype.
tensor::Tensor product(const tensor::Tensor& a, const tensor::Tensor& b, const cpu::Addend& addend, const ColumnProducts& more) {
  const tensor::Tensor out = empty_operand(a, {a.size(0), b.size(1)});
  if (out.dtype() == tensor::Dtype::fp32) {
    multiply(a, b, out, addend, more);
  } else if (multiplies_both(a, b)) {
    multiply_as<cpu::Bf16, cpu::Bf16>(as_matrix(a), as_matrix(b), out, addend, more);
  } else {
    multiply_as<float, cpu::Bf16>(as_matrix(to_float(a)), as_matrix(to_float(b)), out, addend, more);
  }
  return to_dtype_of(a, out);
}

tensor::Tensor cpu_forward(const tensor::Tensor& x_MI, const tensor::Tensor& w_OI, const tensor::Tensor& bias_O,
                           const ColumnProducts& more) {
  const tensor::Tensor bias = bias_O.defined() ? to_float(bias_O) : tensor::Tensor();
  cpu::Addend addend;
  if (bias.defined()) addend = {cpu::Addend::Kind::row, bias.data<float>()};
  if (x_MI.size(0) > cpu::few_rows || !more.empty()) return product(x_MI, w_OI.t(), addend, more);
  const tensor::Tensor y_MO = empty_float(x_MI, x_MI.size(0), w_OI.size(0));
  return multiply_few_rows(x_MI, w_OI, y_MO, addend) ? to_dtype_of(x_MI, y_MO) : product(x_MI, w_OI.t(), addend, {});
}

// The same on a device; out is used as it is.
void multiply_there(const tensor::Tensor& a, const tensor::Tensor& b, const tensor::Tensor& out, const tensor::Tensor& bias = {},
                    const tensor::Tensor& plus = {}) {
  a.device().accelerator().multiply(as_matrix(a), as_matrix(b), out, bias.defined() ? bias.contiguous() : bias, plus);
}

tensor::Tensor product_there(const tensor::Tensor& a, const tensor::Tensor& b, const ColumnProducts& more,
                             const tensor::Tensor& bias = {}, const tensor::Tensor& plus = {}) {
  const tensor::Tensor out = tensor::empty({a.size(0), b.size(1)}, a.type());
  multiply_there(a, b, out, bias, plus);
  for (const ColumnProduct& one : more) {
    const tensor::Tensor columns = out.narrow(1, one.first, one.b_KN.size(1));
    multiply_there(one.a_MK, one.b_KN, columns, {}, columns);
  }
  return out;
}

}  // namespace

tensor::Tensor linear_forward(const tensor::Tensor& x_MI, const tensor::Tensor& w_OI, const tensor::Tensor& bias_O,
                              const tensor::Tensor& plus_MO, const ColumnProducts& more) {
  if (!x_MI.is_cpu()) return product_there(x_MI, w_OI.t(), more, bias_O, plus_MO.defined() ? plus_MO.contiguous() : plus_MO);
  tensor::Tensor y_MO = cpu_forward(x_MI, w_OI, bias_O, more);
  if (plus_MO.defined()) tensor::add(y_MO, plus_MO);
  return y_MO;
}

void linear_forward_float(const tensor::Tensor& x_MI, const tensor::Tensor& w_OI, const tensor::Tensor& y_MO) {
  if (!x_MI.is_cpu()) return multiply_there(x_MI, w_OI.t(), y_MO);
  if (!multiply_few_rows(x_MI, w_OI, y_MO)) multiply(x_MI, w_OI.t(), y_MO);
}

tensor::Tensor linear_backward_input(const tensor::Tensor& dy_MO, const tensor::Tensor& w_OI, const ColumnProducts& more) {
  return dy_MO.is_cpu() ? product(dy_MO, w_OI, {}, more) : product_there(dy_MO, w_OI, more);
}

void linear_backward_input_into(const tensor::Tensor& dy_MO, const tensor::Tensor& w_OI, const tensor::Tensor& dx_MI) {
  if (!dy_MO.is_cpu()) return multiply_there(dy_MO, w_OI, dx_MI);
  dx_MI.copy_from(product(dy_MO, w_OI, {}, {}));
}

void linear_backward_weight(const tensor::Tensor& dy_MO, const tensor::Tensor& x_MI, const tensor::Tensor& dw_OI,
                            tensor::Sum sum) {
  if (!dy_MO.is_cpu()) return multiply_there(dy_MO.t(), x_MI, dw_OI, {}, sum == tensor::Sum::added ? dw_OI : tensor::Tensor());
  multiply(dy_MO.t(), x_MI, dw_OI, sum == tensor::Sum::added ? cpu::Addend{cpu::Addend::Kind::output, nullptr} : cpu::Addend{});
}

void linear_backward_bias(const tensor::Tensor& dy_MO, const tensor::Tensor& dbias_O, tensor::Sum sum) {
  if (sum == tensor::Sum::added) {
    const tensor::Tensor here = tensor::empty_like(dbias_O);
    linear_backward_bias(dy_MO, here);
    return add_into(dbias_O, here);
  }
  if (dy_MO.is_cpu()) {
    const tensor::Tensor read = cpu_operand(dy_MO), dy = read.stride(1) == 1 ? read : read.contiguous();
    return cpu::column_sums(dy.size(0), dy.size(1), dy.data(), dy.dtype(), dy.stride(0),
                            dbias_O.data<float>());
  }
  return on_cuda::linear_backward_bias(dy_MO, dbias_O);
}

bool multiplies_as_it_is(const tensor::Tensor& x) { return x.is_cpu() ? multiplies_both(x, x) : true; }

tensor::Tensor empty_spaced_rows(std::int64_t rows, std::int64_t columns, const tensor::TensorType& type) {
  const std::int64_t element = base::bytes_of(type.dtype);
  const std::int64_t line = 64 / element, power = 1024 / element;
  const std::int64_t whole = (columns + line - 1) / line * line, apart = whole % power == 0 ? whole + line : whole;
  return tensor::empty({rows, apart}, type).narrow(1, 0, columns);
}

}  // namespace troika::kernels
