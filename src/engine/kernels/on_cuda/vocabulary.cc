// Embedding, and rows of logits.
#include "cuda/vocabulary_dispatch.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {

static cuda::LogitRows logit_rows(const tensor::Tensor& logits_Mv) {
  return {logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)};
}

void log_sum_exp(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M, const tensor::Tensor& kept_Mv) {
  dispatch::log_sum_exp(OnDevice(logits_Mv), logit_rows(logits_Mv), logits_Mv.data<float>(), lse_M.data<float>(),
                        kept_Mv.defined() ? kept_Mv.dtype() : tensor::Dtype::fp32, data_of(kept_Mv));
}

void cross_entropy_gradient(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M, const tensor::Tensor& column_M,
                            const tensor::Tensor& weight_M, tensor::Dtype dtype) {
  dispatch::cross_entropy_gradient(OnDevice(logits_Mv), logit_rows(logits_Mv), logits_Mv.dtype(), logits_Mv.data(),
                                   {lse_M.data<float>(), column_M.data<std::int64_t>(), weight_M.data<float>()}, dtype);
}

tensor::Tensor target_logits(const tensor::Tensor& logits_Mv, const tensor::Tensor& column_M) {
  const tensor::Tensor logit_M = tensor::empty({logits_Mv.size(0)}, logits_Mv.type());
  dispatch::logits_of_columns(OnDevice(logits_Mv), logit_rows(logits_Mv), logits_Mv.data<float>(),
                              column_M.data<std::int64_t>(), logit_M.data<float>());
  return logit_M;
}

tensor::Tensor columns_of(const tensor::Tensor& targets_M, std::int64_t first_row) {
  const tensor::Tensor target = targets_M.contiguous(), column_M = tensor::empty_like(target);
  dispatch::columns_of_targets(OnDevice(target), target.elements(), target.data<std::int64_t>(), first_row,
                               column_M.data<std::int64_t>());
  return column_M;
}

tensor::Tensor weights_of(const tensor::Tensor& targets_M, std::int64_t none, double scale) {
  const tensor::Tensor target = targets_M.contiguous(), weight_M = workspace(target, target.elements());
  dispatch::weights_of_targets(OnDevice(target), target.elements(), target.data<std::int64_t>(), none,
                               static_cast<float>(scale), weight_M.data<float>());
  return weight_M;
}

tensor::Tensor log_add_exp(const tensor::Tensor& a, const tensor::Tensor& b) {
  const tensor::Tensor sum = tensor::empty_like(a), x = a.contiguous(), y = b.contiguous();
  dispatch::log_add_exp(OnDevice(x), x.elements(), x.data<float>(), y.data<float>(), sum.data<float>());
  return sum;
}

tensor::Tensor loss_sum(const tensor::Tensor& lse_M, const tensor::Tensor& logit_M, const tensor::Tensor& targets_M,
                        std::int64_t none) {
  const tensor::Tensor lse = lse_M.contiguous(), logit = logit_M.contiguous(), target = targets_M.contiguous();
  const tensor::Tensor sum_2 = tensor::empty({2}, lse.type().of(tensor::Dtype::fp64));
  dispatch::loss_sum(OnDevice(lse), lse.elements(), lse.data<float>(), logit.data<float>(), target.data<std::int64_t>(), none,
                     sum_2.data<double>());
  return sum_2;
}

namespace {

struct TokensById {
  tensor::Tensor sorted, order;
};

TokensById tokens_by_id(const tensor::Tensor& ids_M) {
  const tensor::Tensor ids = ids_M.contiguous();
  const TokensById found{tensor::empty_like(ids), tensor::empty_like(ids)};
  dispatch::sort_tokens(OnDevice(ids), ids.elements(), ids.data<std::int64_t>(), found.sorted.data<std::int64_t>(),
                        found.order.data<std::int64_t>());
  return found;
}

}  // namespace

tensor::Tensor embedding_forward(const tensor::Tensor& ids_M, const tensor::Tensor& table_vD, std::int64_t first_row) {
  const tensor::Tensor ids = ids_M.contiguous(), table = table_vD.contiguous();
  tensor::Tensor x_MD = tensor::empty({ids.size(0), table.size(1)}, table.type());
  dispatch::embedding_forward(OnDevice(table), {dtype_of(table), first_row, table.size(0), table.size(1)}, ids.size(0),
                          ids.data<std::int64_t>(), table.data(), x_MD.data());
  return x_MD;
}

NamedRows embedding_backward_weight(const tensor::Tensor& dx_MD, const tensor::Tensor& ids_M, std::int64_t first_row,
                                    std::int64_t v) {
  const tensor::Tensor dx = dx_MD.contiguous();
  const TokensById by_id = tokens_by_id(ids_M);
  const cuda::EmbeddingTable table{dtype_of(dx), first_row, v, dx.size(1)};
  const NamedRows rows{{}, tensor::empty({v, dx.size(1)}, dx.type().of(tensor::Dtype::fp32))};
  const tensor::Tensor room = tensor::empty({dispatch::embedding_backward_integers(table)}, ids_M.type());
  dispatch::embedding_backward_weight(OnDevice(dx), table, dx.size(0), {by_id.sorted.data<std::int64_t>(), by_id.order.data<std::int64_t>()},
                                  dx.data(), rows.gradient_rD.data<float>(), room.data<std::int64_t>());
  return rows;
}

}  // namespace troika::kernels::on_cuda
