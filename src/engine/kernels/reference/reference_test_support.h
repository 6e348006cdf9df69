// Every operation from at:: operations, or in a plain loop, for any device: the reference that the CPU kernels are tested
// against, and the fallback where there is none. Contracts are those of the functions of the same names in kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/grid.h"
#include "kernels/attention.h"
#include "kernels/vocabulary.h"
#include "kernels/flat.h"
#include "kernels/grid.h"
#include "kernels/linear.h"
#include "kernels/rows.h"
#include "kernels/rope.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels::reference {

AttentionOutput attention_forward(const AttentionInput& input);
void attention_merge(AttentionOutput& sum, const AttentionOutput& part);
AttentionGradients attention_backward(const at::Tensor& dout_BTnH, const AttentionInput& input,
                                      const AttentionOutput& output);

at::Tensor log_sum_exp(const at::Tensor& logits_Mv);
void cross_entropy_gradient(const at::Tensor& logits_Mv, const at::Tensor& lse_M, const at::Tensor& column_M,
                            const at::Tensor& weight_M);

at::Tensor embedding_forward(const at::Tensor& ids_M, const at::Tensor& table_vD, std::int64_t first_row);
NamedRows embedding_backward_weight(const at::Tensor& dx_MD, const at::Tensor& ids_M, std::int64_t first_row,
                                    std::int64_t v);

void add_into(const at::Tensor& sum, const at::Tensor& other);
at::Tensor chunk_squares(const at::Tensor& x, std::int64_t chunk);

void round_to_grid(const at::Tensor& x, int shift, const Largest& largest);
void add_on_grid(const at::Tensor& sum, const at::Tensor& x, int shift, Into into, const Largest& largest);
void add_rows_on_grid(const MatrixPart& sum, const at::Tensor& row_r, const at::Tensor& x_rD, int shift,
                      const Largest& largest);
void from_integers(const at::Tensor& sum, int shift, const at::Tensor& x);

cpu::BlockFormat block_format(const std::int64_t* x);
void pack_block(const std::int64_t* x, const cpu::BlockFormat& format, std::uint64_t* words);
void add_block(const std::uint64_t* words, const cpu::BlockFormat& format, std::int64_t* sum);

void adamw(const AdamW& settings, double weight_decay, const AdamWTensors& tensors);
void round_into(const at::Tensor& master, const at::Tensor& rounded);
at::Tensor bits_sum(const at::Tensor& tensor);

at::Tensor gelu_forward(const at::Tensor& x);
at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& x);

at::Tensor layer_norm_forward(const at::Tensor& x_MD, const at::Tensor& w_D, const at::Tensor& bias_D, double eps,
                              LayerNormSaved* saved, const at::Tensor& plus_MD);
at::Tensor layer_norm_backward(const at::Tensor& dy_MD, const at::Tensor& x_MD, const at::Tensor& w_D,
                               const LayerNormSaved& saved, const at::Tensor& dw_D, const at::Tensor& dbias_D,
                               const at::Tensor& plus_MD);

at::Tensor linear_forward(const at::Tensor& x_MI, const at::Tensor& w_OI, const at::Tensor& bias_O);
void linear_forward_float(const at::Tensor& x_MI, const at::Tensor& w_OI, const at::Tensor& y_MO);
at::Tensor linear_backward_input(const at::Tensor& dy_MO, const at::Tensor& w_OI);
void linear_backward_weight(const at::Tensor& dy_MO, const at::Tensor& x_MI, const at::Tensor& dw_OI);
void linear_backward_bias(const at::Tensor& dy_MO, const at::Tensor& dbias_O);

at::Tensor qk_norm_rope_forward(const at::Tensor& x_BTnH, const at::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved, Gain gain = Gain::weight);
void qk_norm_rope_backward(const at::Tensor& dy_BTnH, const at::Tensor& x_BTnH, const at::Tensor& w_H,
                           const RopeTable& rope, const QkNormRopeSaved& saved, const at::Tensor& dx_BTnH,
                           const at::Tensor& dw_H, Gain gain = Gain::weight);

at::Tensor rms_norm_forward(const at::Tensor& x_MD, const at::Tensor& w_D, double eps, RmsNormSaved* saved,
                            const at::Tensor& plus_MD, Gain gain = Gain::weight);
at::Tensor rms_norm_backward(const at::Tensor& dy_MD, const at::Tensor& x_MD, const at::Tensor& w_D,
                             const RmsNormSaved& saved, const at::Tensor& dw_D, const at::Tensor& plus_MD, Gain gain = Gain::weight);

// Rotates each pair (i, i + H/2) by +angle (direction 1) or, for the gradient, by -angle (direction -1). fp32.
at::Tensor rotate(const at::Tensor& x_BTnH, const RopeTable& rope, double direction);
at::Tensor rope_forward(const at::Tensor& x_BTnH, const RopeTable& rope);
void rope_backward(const at::Tensor& dy_BTnH, const RopeTable& rope, const at::Tensor& dx_BTnH);

at::Tensor swiglu_forward(const at::Tensor& gate_up_M2F);
at::Tensor swiglu_backward(const at::Tensor& dh_MF, const at::Tensor& gate_up_M2F);
at::Tensor geglu_forward(const at::Tensor& gate_up_M2F);
at::Tensor geglu_backward(const at::Tensor& dh_MF, const at::Tensor& gate_up_M2F);

}  // namespace troika::kernels::reference
