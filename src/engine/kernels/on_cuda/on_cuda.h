// Operations on tensors of a device, by the kernels of module cuda and the products of its accelerator, queued on its compute
// lane. Contracts are those of the functions of the same names in kernels.
#pragma once

#include <cstdint>

#include "cpu/rows.h"
#include "shape/gpu_chunks.h"
#include "kernels/attention.h"
#include "kernels/vocabulary.h"
#include "kernels/flat.h"
#include "kernels/grid.h"
#include "kernels/rows.h"
#include "kernels/rope.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {

tensor::Tensor rms_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, double eps, RmsNormSaved* saved,
                            const tensor::Tensor& plus_MD, Gain gain);
tensor::Tensor rms_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                             const RmsNormSaved& saved, const tensor::Tensor& dw_D, const tensor::Tensor& plus_MD, Gain gain);
tensor::Tensor layer_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, const tensor::Tensor& bias_D, double eps,
                              LayerNormSaved* saved, const tensor::Tensor& plus_MD);
tensor::Tensor layer_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                               const LayerNormSaved& saved, const tensor::Tensor& dw_D, const tensor::Tensor& dbias_D,
                               const tensor::Tensor& plus_MD);

// By the accelerator's library where it does it (Accelerator::attend), else by products, in the precision that they have for their dtype:
// weights and the gradients of scores are rounded to it before they are multiplied. Beside results forward takes scores of `scores_bytes` (shape/gpu_chunks.h), backward twice as much, k and v in
// fp32, and q and dout of a chunk; both take a copy of q where heads are not in the order of the key/value heads.
AttentionOutput attention_forward(const AttentionInput& input, std::int64_t scores_bytes = shape::most_scores_bytes);
AttentionGradients attention_backward(const tensor::Tensor& dout_BTnH, const AttentionInput& input,
                                      const AttentionOutput& output, std::int64_t scores_bytes = shape::most_scores_bytes);
// Why it is by products, of sizes, types and places alone; empty: it is by the library.
base::Text why_products(const AttentionInput& input);
// The outputs of two parts, each times its share of the log-sum-exp lse_BnT, contiguous. fp32.
tensor::Tensor sum_of_shares(const AttentionOutput& a, const AttentionOutput& b, const tensor::Tensor& lse_BnT);

tensor::Tensor rope_forward(const tensor::Tensor& x_BTnH, const RopeTable& rope);
void rope_backward(const tensor::Tensor& dy_BTnH, const RopeTable& rope, const tensor::Tensor& dx_BTnH);
tensor::Tensor qk_norm_rope_forward(const tensor::Tensor& x_BTnH, const tensor::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved, Gain gain);
void qk_norm_rope_backward(const tensor::Tensor& dy_BTnH, const tensor::Tensor& x_BTnH, const tensor::Tensor& w_H,
                           const RopeTable& rope, const QkNormRopeSaved& saved, const tensor::Tensor& dx_BTnH,
                           const tensor::Tensor& dw_H, Gain gain);

tensor::Tensor gated_forward(cpu::Gate gate, const tensor::Tensor& gate_up_M2F);
tensor::Tensor gated_backward(cpu::Gate gate, const tensor::Tensor& dh_MF, const tensor::Tensor& gate_up_M2F);
tensor::Tensor gelu_forward(const tensor::Tensor& x);
tensor::Tensor gelu_backward(const tensor::Tensor& dy, const tensor::Tensor& x);

tensor::Tensor dropout(const tensor::Tensor& x_MI, const base::Philox& random, const DropoutRows& rows,
                   std::int64_t first_column, const DropoutShare& share);

// kept_Mv may be undefined: log_sum_exp and log_sum_exp_and_keep.
void log_sum_exp(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M, const tensor::Tensor& kept_Mv = {});
// In place: logits of fp32 give a gradient of halves the first half of each row.
void cross_entropy_gradient(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M, const tensor::Tensor& column_M,
                            const tensor::Tensor& weight_M, tensor::Dtype dtype);
tensor::Tensor log_add_exp(const tensor::Tensor& a, const tensor::Tensor& b);

// The parts of output_loss.cc. A target that is `none` carries no loss.
tensor::Tensor target_logits(const tensor::Tensor& logits_Mv, const tensor::Tensor& column_M);
tensor::Tensor columns_of(const tensor::Tensor& targets_M, std::int64_t first_row);
tensor::Tensor weights_of(const tensor::Tensor& targets_M, std::int64_t none, double scale);
tensor::Tensor loss_sum(const tensor::Tensor& lse_M, const tensor::Tensor& logit_M, const tensor::Tensor& targets_M,
                        std::int64_t none);

tensor::Tensor embedding_forward(const tensor::Tensor& ids_M, const tensor::Tensor& table_vD, std::int64_t first_row);
// Names every row: it would have to be known how many ids there are.
NamedRows embedding_backward_weight(const tensor::Tensor& dx_MD, const tensor::Tensor& ids_M, std::int64_t first_row,
                                    std::int64_t v);

void linear_backward_bias(const tensor::Tensor& dy_MO, const tensor::Tensor& dbias_O);

void add_into(const tensor::Tensor& sum, const tensor::Tensor& other);
void sum_of_parts(const std::vector<tensor::Tensor>& parts, const tensor::Tensor& sum);
void chunk_squares(const tensor::Tensor& x, const std::vector<std::int64_t>& stretches, std::int64_t chunk,
                   const tensor::Tensor& squares);
tensor::Tensor bits_sum(const tensor::Tensor& x);
void adamw(const AdamW& settings, const std::vector<DecayStretch>& stretches, const AdamWTensors& tensors);
void round_into(const tensor::Tensor& master, const tensor::Tensor& rounded);

void round_to_grid(const tensor::Tensor& x, const GridStretches& stretches, const Largest& largest);
void add_on_grid(const tensor::Tensor& sum, const tensor::Tensor& x, const GridStretches& stretches, Into into,
                 const Largest& largest);
void add_rows_on_grid(const MatrixPart& sum, const tensor::Tensor& row_r, const tensor::Tensor& x_rD, int shift,
                      const Largest& largest);
void from_integers(const tensor::Tensor& sum, const GridStretches& stretches, const tensor::Tensor& x);
void integer_chunk_squares(const tensor::Tensor& sum, const GridStretches& stretches, std::int64_t chunk,
                           const tensor::Tensor& squares);

}  // namespace troika::kernels::on_cuda
