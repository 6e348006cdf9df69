#include <torch/version.h>

#include "kernels/cpu_operands.h"
#include "kernels/reference/reference_test_support.h"
#include "tensor/libtorch_test_support.h"

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
  if (!x_MI.is_cpu()) return bias_O.defined() ? at::addmm(bias_O, x_MI, w_OI.t()) : at::mm(x_MI, w_OI.t());
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

void linear_backward_bias(const at::Tensor& dy_MO, const at::Tensor& dbias_O) {
  at::Tensor dbias = dbias_O;
  at::sum_out(dbias, to_float(dy_MO), at::IntArrayRef{0}, false);
}

namespace {

struct Rows {
  at::Tensor row_M;       // in this part; some row of it where the id lies outside
  at::Tensor outside_M1;  // true there
};

Rows rows_of_ids(const at::Tensor& ids_M, std::int64_t first_row, std::int64_t v) {
  const at::Tensor row_M = ids_M - first_row;
  return {row_M.clamp(0, v - 1), (row_M < 0).logical_or_(row_M >= v).unsqueeze(1)};
}

}  // namespace

at::Tensor embedding_forward(const at::Tensor& ids_M, const at::Tensor& table_vD, std::int64_t first_row) {
  const Rows rows = rows_of_ids(ids_M, first_row, table_vD.size(0));
  return table_vD.index_select(0, rows.row_M).masked_fill_(rows.outside_M1, 0.0);
}

NamedRows embedding_backward_weight(const at::Tensor& dx_MD, const at::Tensor& ids_M, std::int64_t first_row,
                                    std::int64_t v) {
  const at::Tensor row_M = ids_M - first_row;
  const at::Tensor inside_m = (row_M >= 0).logical_and_(row_M < v).nonzero().squeeze(1);
  const auto unique = at::_unique2(row_M.index_select(0, inside_m), /*sorted=*/true, /*return_inverse=*/true);
  const at::Tensor dx_mD = tensor::theirs(to_float(dx_MD)).index_select(0, inside_m), place_m = std::get<1>(unique);
  NamedRows rows{std::get<0>(unique), at::zeros({std::get<0>(unique).size(0), dx_MD.size(1)}, dx_mD.options())};
  // Each is the one of the two that adds in a fixed order on its device.
  if (dx_mD.is_cpu()) {
    tensor::theirs(rows.gradient_rD).index_add_(0, place_m, dx_mD);
  } else {
    tensor::theirs(rows.gradient_rD).index_put_({place_m}, dx_mD, /*accumulate=*/true);
  }
  return rows;
}

at::Tensor log_sum_exp(const at::Tensor& logits_Mv) { return at::logsumexp(logits_Mv, {1}); }

void cross_entropy_gradient(const at::Tensor& logits_Mv, const at::Tensor& lse_M, const at::Tensor& column_M,
                            const at::Tensor& weight_M) {
  const std::int64_t v = logits_Mv.size(1);
  at::Tensor d_Mv = logits_Mv;
  d_Mv.sub_(lse_M.unsqueeze(1)).exp_();
  const at::Tensor here_M1 = (column_M >= 0).logical_and_(column_M < v).to(at::kFloat).unsqueeze(1);
  const at::Tensor column_M1 = column_M.clamp(0, v - 1).unsqueeze(1);
  d_Mv.scatter_(1, column_M1, d_Mv.gather(1, column_M1).sub_(here_M1));
  d_Mv.mul_(weight_M.unsqueeze(1));
}

}  // namespace troika::kernels::reference
