// Embedding, and rows of logits.
#include <ATen/ATen.h>

#include "cuda/cross_entropy.h"
#include "cuda/embedding.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"

namespace troika::kernels::on_cuda {

static cuda::LogitRows logit_rows(const at::Tensor& logits_Mv) {
  return {logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)};
}

at::Tensor log_sum_exp(const at::Tensor& logits_Mv) {
  at::Tensor lse_M = at::empty({logits_Mv.size(0)}, logits_Mv.options());
  cuda::log_sum_exp(logit_rows(logits_Mv), logits_Mv.data_ptr<float>(), lse_M.data_ptr<float>(), stream_of(logits_Mv));
  return lse_M;
}

void cross_entropy_gradient(const at::Tensor& logits_Mv, const at::Tensor& lse_M, const at::Tensor& column_M,
                            const at::Tensor& weight_M) {
  const at::Tensor lse = lse_M.contiguous(), column = column_M.contiguous(), weight = weight_M.contiguous();
  cuda::cross_entropy_gradient(logit_rows(logits_Mv), logits_Mv.data_ptr<float>(), lse.data_ptr<float>(),
                               column.data_ptr<std::int64_t>(), weight.data_ptr<float>(), stream_of(logits_Mv));
}

at::Tensor embedding_forward(const at::Tensor& ids_M, const at::Tensor& table_vD, std::int64_t first_row) {
  const at::Tensor ids = ids_M.contiguous(), table = table_vD.contiguous();
  at::Tensor x_MD = at::empty({ids.size(0), table.size(1)}, table.options());
  cuda::embedding_forward({dtype_of(table), first_row, table.size(0), table.size(1)}, ids.size(0),
                          ids.data_ptr<std::int64_t>(), table.data_ptr(), x_MD.data_ptr(), stream_of(table));
  return x_MD;
}

NamedRows embedding_backward_weight(const at::Tensor& dx_MD, const at::Tensor& ids_M, std::int64_t first_row,
                                    std::int64_t v) {
  const at::Tensor dx = dx_MD.contiguous();
  const auto by_id = at::sort(ids_M.contiguous(), /*stable=*/true, 0, /*descending=*/false);
  const at::Tensor sorted = std::get<0>(by_id), order = std::get<1>(by_id);
  const cuda::EmbeddingTable table{dtype_of(dx), first_row, v, dx.size(1)};
  const NamedRows rows{at::arange(v, ids_M.options()), at::empty({v, dx.size(1)}, dx.options().dtype(at::kFloat))};
  const at::Tensor room = at::empty({cuda::embedding_backward_integers(table)}, ids_M.options());
  cuda::embedding_backward_weight(table, dx.size(0), {sorted.data_ptr<std::int64_t>(), order.data_ptr<std::int64_t>()},
                                  dx.data_ptr(), rows.gradient_rD.data_ptr<float>(), room.data_ptr<std::int64_t>(),
                                  stream_of(dx));
  return rows;
}

}  // namespace troika::kernels::on_cuda
