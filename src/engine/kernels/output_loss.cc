#include "kernels/output_loss.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/cpu_operands.h"
#include "kernels/linear.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/vocabulary.h"
#include "shape/gpu_chunks.h"

namespace troika::kernels {
namespace {

std::int64_t chunk_rows(const tensor::Tensor& x_MD, std::int64_t v) {
  return x_MD.is_cpu() ? output_loss_chunk_rows(x_MD.size(1)) : shape::logit_chunk_rows(v);
}

template <class Visit>
void each_chunk(const tensor::Tensor& x_MD, std::int64_t v, const Visit& visit) {
  const std::int64_t M = x_MD.size(0), rows = chunk_rows(x_MD, v);
  for (std::int64_t begin = 0; begin < M; begin += rows) visit(begin, std::min(rows, M - begin));
}

// Room for the logits of a chunk.
tensor::Tensor chunk_room(const tensor::Tensor& x_MD, std::int64_t v) {
  return empty_spaced_rows(std::min(x_MD.size(0), chunk_rows(x_MD, v)), v, x_MD.type().of(tensor::Dtype::fp32));
}

// Halves that no unit multiplies would be converted for every chunk.
tensor::Tensor multiplied(const tensor::Tensor& w_vD) { return multiplies_as_it_is(w_vD) ? w_vD : to_float(w_vD); }

// The target's logit where it lies in these columns, else 0.
tensor::Tensor target_logits(const tensor::Tensor& logits_Mv, const tensor::Tensor& column_M) {
  if (!logits_Mv.is_cpu()) return on_cuda::target_logits(logits_Mv, column_M);
  const tensor::Tensor target_M = tensor::zeros({logits_Mv.size(0)}), columns = column_M.contiguous();
  const auto* const column = columns.data<std::int64_t>();
  for (std::int64_t row = 0; row < logits_Mv.size(0); ++row) {
    if (column[row] >= 0 && column[row] < logits_Mv.size(1))
      target_M.data<float>()[row] = logits_Mv.data<float>()[row * logits_Mv.stride(0) + column[row]];
  }
  return target_M;
}

OutputLossPart empty_part(const tensor::Tensor& x_MD) {
  const auto options = x_MD.type().of(tensor::Dtype::fp32);
  return {tensor::empty({x_MD.size(0)}, options), tensor::empty({x_MD.size(0)}, options)};
}

// The columns of targets in a part of the vocabulary that begins at `first_row`.
tensor::Tensor columns_of(const tensor::Tensor& targets_M, std::int64_t first_row) {
  if (!targets_M.is_cpu()) return on_cuda::columns_of(targets_M, first_row);
  const tensor::Tensor column_M = targets_M.clone();
  for (std::int64_t i = 0; i < column_M.elements(); ++i) column_M.data<std::int64_t>()[i] -= first_row;
  return column_M;
}

// a - b, fp32.
tensor::Tensor difference(const tensor::Tensor& a_M, const tensor::Tensor& b_M) {
  const tensor::Tensor difference_M = a_M.clone();
  tensor::add(difference_M, b_M, -1);
  return difference_M;
}

}  // namespace

std::int64_t output_loss_chunk_rows(std::int64_t D) { return std::clamp<std::int64_t>(2 * D, 128, 512); }

std::int64_t OutputLossSaved::bytes() const {
  std::int64_t sum = 0;
  for (const tensor::Tensor* tensor : {&logits_Mv, &part_lse_M, &dx_MD, &dw_vD})
    sum += tensor->defined() ? tensor->bytes() : 0;
  return sum;
}

OutputLossPart output_loss_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_vD, const tensor::Tensor& targets_M,
                                   std::int64_t first_row, OutputLossSaved* saved) {
  const std::int64_t v = w_vD.size(0);
  const bool halves = x_MD.dtype() != tensor::Dtype::fp32;
  const tensor::Tensor w = multiplied(w_vD);
  OutputLossPart part = empty_part(x_MD);
  if (saved != nullptr)
    *saved = {tensor::empty({x_MD.size(0), v}, x_MD.type()), halves ? part.lse_M : tensor::Tensor(), {}, {}};
  const tensor::Tensor room = saved == nullptr || halves ? chunk_room(x_MD, v) : tensor::Tensor();
  each_chunk(x_MD, v, [&](std::int64_t begin, std::int64_t rows) {
    tensor::Tensor logits_mv = room.defined() ? room.narrow(0, 0, rows) : saved->logits_Mv.narrow(0, begin, rows);
    linear_forward_float(x_MD.narrow(0, begin, rows), w, logits_mv);
    const tensor::Tensor lse_m = part.lse_M.narrow(0, begin, rows);
    const tensor::Tensor column_m = columns_of(targets_M.narrow(0, begin, rows), first_row);
    part.target_M.narrow(0, begin, rows).copy_from(target_logits(logits_mv, column_m));
    if (saved != nullptr && halves) {
      log_sum_exp_and_keep(logits_mv, lse_m, saved->logits_Mv.narrow(0, begin, rows));
    } else {
      lse_m.copy_from(log_sum_exp(logits_mv));
    }
  });
  return part;
}

OutputLossPart output_loss_forward_with_gradients(const RowLoss& loss, const tensor::Tensor& x_MD, const tensor::Tensor& w_vD,
                                                  const tensor::Tensor& targets_M, double scale, OutputLossSaved& saved,
                                                  LossGradients wanted) {
  const tensor::Tensor w = multiplied(w_vD), room = chunk_room(x_MD, w_vD.size(0)), weight_M = loss.weights(targets_M, scale);
  OutputLossPart part = empty_part(x_MD);
  saved = {{}, {}, tensor::empty_like(x_MD), {}};
  if (wanted == LossGradients::input_and_weight)
    saved.dw_vD = tensor::empty(w_vD.sizes(), x_MD.type().of(tensor::Dtype::fp32));
  if (x_MD.size(0) == 0 && saved.dw_vD.defined()) saved.dw_vD.zero();
  each_chunk(x_MD, w_vD.size(0), [&](std::int64_t begin, std::int64_t rows) {
    const tensor::Tensor x_mD = x_MD.narrow(0, begin, rows), targets_m = targets_M.narrow(0, begin, rows);
    const tensor::Tensor logits_mv = room.narrow(0, 0, rows);
    linear_forward_float(x_mD, w, logits_mv);
    const tensor::Tensor lse_m = log_sum_exp(logits_mv);
    part.lse_M.narrow(0, begin, rows).copy_from(lse_m);
    part.target_M.narrow(0, begin, rows).copy_from(target_logits(logits_mv, targets_m));
    const tensor::Tensor d_mv =
        loss.gradient({logits_mv, lse_m, lse_m, targets_m, weight_M.narrow(0, begin, rows)}, w.dtype());
    saved.dx_MD.narrow(0, begin, rows).copy_from(linear_backward_input(d_mv, w));
    if (!saved.dw_vD.defined()) return;
    linear_backward_weight(d_mv, to_dtype_of(d_mv, x_mD), saved.dw_vD, begin == 0 ? tensor::Sum::replaced : tensor::Sum::added);
  });
  return part;
}

OutputLossPart output_loss_join(const std::vector<OutputLossPart>& parts) {
  OutputLossPart whole = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    whole.lse_M = log_add_exp(whole.lse_M, parts[i].lse_M);
    whole.target_M = whole.target_M.clone();
    tensor::add(whole.target_M, parts[i].target_M);
  }
  return whole;
}

LossSum read_loss(const tensor::Tensor& sum_2) {
  const tensor::Tensor here = sum_2.cpu();
  const auto* const sum = here.data<double>();
  return {sum[0], static_cast<std::int64_t>(sum[1])};
}

tensor::Tensor output_loss_backward_input(const RowLoss& loss, const tensor::Tensor& w_vD, const tensor::Tensor& targets_M,
                                          std::int64_t first_row, const tensor::Tensor& lse_M, double scale,
                                          OutputLossSaved& saved) {
  if (saved.dx_MD.defined()) return std::move(saved.dx_MD);
  const tensor::Tensor kept_lse_M = saved.part_lse_M.defined() ? difference(lse_M, saved.part_lse_M) : lse_M;
  const LossRows rows{saved.logits_Mv, lse_M, kept_lse_M, columns_of(targets_M, first_row), loss.weights(targets_M, scale)};
  saved = {loss.gradient(rows, saved.logits_Mv.dtype()), {}, {}, {}};
  return linear_backward_input(saved.logits_Mv, w_vD);
}

void output_loss_backward_weight(const tensor::Tensor& x_MD, const OutputLossSaved& saved, std::int64_t piece_rows,
                                 const OpenRows& open) {
  const tensor::Tensor x = multiplied(x_MD);
  const std::int64_t v = saved.logits_Mv.size(1);
  for (std::int64_t first = 0; first < v; first += piece_rows) {
    const std::int64_t count = std::min(piece_rows, v - first);
    const tensor::Destination dw_cD = open(first, count);
    linear_backward_weight(saved.logits_Mv.narrow(1, first, count), x, dw_cD.elements, dw_cD.sum);
  }
}

// Each loss is in a file of its name.
std::unique_ptr<const RowLoss> cross_entropy_loss();

std::unique_ptr<const RowLoss> row_loss(config::Loss loss) {
  switch (loss) {
    case config::Loss::cross_entropy:
      return cross_entropy_loss();
  }
  throw base::BugError("a loss without its rows");
}

}  // namespace troika::kernels
