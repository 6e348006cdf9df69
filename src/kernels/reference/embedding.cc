#include <ATen/ATen.h>

#include "kernels/precision.h"
#include "kernels/reference/reference.h"

namespace troika::kernels::reference {
namespace {

struct Rows {
  at::Tensor row_M;       // in this part; some row of it where the id lies outside
  at::Tensor outside_M1;  // true there
};

Rows rows_of(const at::Tensor& ids_M, std::int64_t first_row, std::int64_t v) {
  const at::Tensor row_M = ids_M - first_row;
  return {row_M.clamp(0, v - 1), (row_M < 0).logical_or_(row_M >= v).unsqueeze(1)};
}

}  // namespace

at::Tensor embedding_forward(const at::Tensor& ids_M, const at::Tensor& table_vD, std::int64_t first_row) {
  const Rows rows = rows_of(ids_M, first_row, table_vD.size(0));
  return table_vD.index_select(0, rows.row_M).masked_fill_(rows.outside_M1, 0.0);
}

void embedding_backward_weight(const at::Tensor& dx_MD, const at::Tensor& ids_M, std::int64_t first_row,
                               const at::Tensor& dtable_vD) {
  const Rows rows = rows_of(ids_M, first_row, dtable_vD.size(0));
  const at::Tensor inside_dx_MD = to_float(dx_MD).masked_fill(rows.outside_M1, 0.0);
  at::Tensor dtable = dtable_vD;
  dtable.zero_();
  // Each is the one of the two that adds in a fixed order on its device.
  if (dtable.is_cpu()) {
    dtable.index_add_(0, rows.row_M, inside_dx_MD);
  } else {
    dtable.index_put_({rows.row_M}, inside_dx_MD, /*accumulate=*/true);
  }
}

}  // namespace troika::kernels::reference
