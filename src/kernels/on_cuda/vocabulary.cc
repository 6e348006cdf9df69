// Embedding, and rows of logits.

#include "cuda/cross_entropy.h"
#include "cuda/embedding.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {

static cuda::LogitRows logit_rows(const tensor::Tensor& logits_Mv) {
  return {logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)};
}

tensor::Tensor log_sum_exp(const tensor::Tensor& logits_Mv) {
  tensor::Tensor lse_M = tensor::empty({logits_Mv.size(0)}, logits_Mv.type());
  cuda::log_sum_exp(logit_rows(logits_Mv), logits_Mv.data<float>(), lse_M.data<float>(), stream_of(logits_Mv));
  return lse_M;
}

void cross_entropy_gradient(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M, const tensor::Tensor& column_M,
                            const tensor::Tensor& weight_M) {
  const tensor::Tensor lse = lse_M.contiguous(), column = column_M.contiguous(), weight = weight_M.contiguous();
  cuda::cross_entropy_gradient(logit_rows(logits_Mv), logits_Mv.data<float>(), lse.data<float>(),
                               column.data<std::int64_t>(), weight.data<float>(), stream_of(logits_Mv));
}

tensor::Tensor embedding_forward(const tensor::Tensor& ids_M, const tensor::Tensor& table_vD, std::int64_t first_row) {
  const tensor::Tensor ids = ids_M.contiguous(), table = table_vD.contiguous();
  tensor::Tensor x_MD = tensor::empty({ids.size(0), table.size(1)}, table.type());
  cuda::embedding_forward({dtype_of(table), first_row, table.size(0), table.size(1)}, ids.size(0),
                          ids.data<std::int64_t>(), table.data(), x_MD.data(), stream_of(table));
  return x_MD;
}

NamedRows embedding_backward_weight(const tensor::Tensor& dx_MD, const tensor::Tensor& ids_M, std::int64_t first_row,
                                    std::int64_t v) {
  const tensor::Tensor dx = dx_MD.contiguous();
  const auto by_id = at::sort(ids_M.contiguous(), /*stable=*/true, 0, /*descending=*/false);
  const tensor::Tensor sorted = std::get<0>(by_id), order = std::get<1>(by_id);
  const cuda::EmbeddingTable table{dtype_of(dx), first_row, v, dx.size(1)};
  const NamedRows rows{at::arange(v, ids_M.type()), tensor::empty({v, dx.size(1)}, dx.type().of(tensor::Dtype::fp32))};
  const tensor::Tensor room = tensor::empty({cuda::embedding_backward_integers(table)}, ids_M.type());
  cuda::embedding_backward_weight(table, dx.size(0), {sorted.data<std::int64_t>(), order.data<std::int64_t>()},
                                  dx.data(), rows.gradient_rD.data<float>(), room.data<std::int64_t>(),
                                  stream_of(dx));
  return rows;
}

}  // namespace troika::kernels::on_cuda
