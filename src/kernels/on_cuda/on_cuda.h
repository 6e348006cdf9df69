// Operations on tensors of an NVIDIA GPU, by the kernels of module cuda and by libtorch's flash attention, queued on the
// thread's current stream. Contracts are those of the functions of the same names in kernels. Only in builds with TROIKA_CUDA.
#pragma once

#include <cstdint>

#include "kernels/activation.h"
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "kernels/flat.h"
#include "kernels/grid.h"
#include "kernels/norm.h"
#include "kernels/rope.h"

namespace troika::kernels {

#ifdef TROIKA_CUDA_KERNELS
inline constexpr bool has_cuda_kernels = true;
#else
inline constexpr bool has_cuda_kernels = false;
#endif

namespace on_cuda {

at::Tensor rms_norm_forward(const at::Tensor& x_MD, const at::Tensor& w_D, double eps, RmsNormSaved* saved,
                            const at::Tensor& plus_MD);
at::Tensor rms_norm_backward(const at::Tensor& dy_MD, const at::Tensor& x_MD, const at::Tensor& w_D,
                             const RmsNormSaved& saved, const at::Tensor& dw_D, const at::Tensor& plus_MD);
at::Tensor layer_norm_forward(const at::Tensor& x_MD, const at::Tensor& w_D, const at::Tensor& bias_D, double eps,
                              LayerNormSaved* saved, const at::Tensor& plus_MD);
at::Tensor layer_norm_backward(const at::Tensor& dy_MD, const at::Tensor& x_MD, const at::Tensor& w_D,
                               const LayerNormSaved& saved, const at::Tensor& dw_D, const at::Tensor& dbias_D,
                               const at::Tensor& plus_MD);

// Flash attention for bf16 and fp16, which it computes in, heads of at most 256 whose width is a multiple of 8, documents
// that have a Varlen, and compute capability 8.0 or newer. fp32 and all else: the reference implementation, which needs
// memory for every pair of a query and a key; flash attention would have to round fp32 to halves.
//
// Gradients have the same bits in every run: libtorch's flag for deterministic algorithms is up while backward is queued. The
// flag belongs to the process, so ranks that are threads take turns at it; other operations of theirs may meet it, and then
// choose their deterministic variants.
//
// While it runs, backward takes in fp32 s rows n H, where rows are B T, with documents 128 more for each, and s is the number
// of multiprocessors over n B, or n documents, rounded up; where k < n also k and v for every query head, in their dtype.
AttentionOutput attention_forward(const AttentionInput& input);
AttentionGradients attention_backward(const at::Tensor& dout_BTnH, const AttentionInput& input,
                                      const AttentionOutput& output);

at::Tensor rope_forward(const at::Tensor& x_BTnH, const RopeTable& rope);
void rope_backward(const at::Tensor& dy_BTnH, const RopeTable& rope, const at::Tensor& dx_BTnH);
at::Tensor qk_norm_rope_forward(const at::Tensor& x_BTnH, const at::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved);
void qk_norm_rope_backward(const at::Tensor& dy_BTnH, const at::Tensor& x_BTnH, const at::Tensor& w_H,
                           const RopeTable& rope, const QkNormRopeSaved& saved, const at::Tensor& dx_BTnH,
                           const at::Tensor& dw_H);

at::Tensor swiglu_forward(const at::Tensor& gate_up_M2F);
at::Tensor swiglu_backward(const at::Tensor& dh_MF, const at::Tensor& gate_up_M2F);
at::Tensor gelu_forward(const at::Tensor& x);
at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& x);

at::Tensor dropout(const at::Tensor& x_MI, const base::Philox& random, const DropoutRows& rows,
                   std::int64_t first_column, const DropoutShare& share);

at::Tensor log_sum_exp(const at::Tensor& logits_Mv);
void cross_entropy_gradient(const at::Tensor& logits_Mv, const at::Tensor& lse_M, const at::Tensor& column_M,
                            const at::Tensor& weight_M);

at::Tensor embedding_forward(const at::Tensor& ids_M, const at::Tensor& table_vD, std::int64_t first_row);
// Names every row: to know which ids there are, the thread would have to wait for the device.
NamedRows embedding_backward_weight(const at::Tensor& dx_MD, const at::Tensor& ids_M, std::int64_t first_row,
                                    std::int64_t v);

void linear_backward_bias(const at::Tensor& dy_MO, const at::Tensor& dbias_O);

void add_into(const at::Tensor& sum, const at::Tensor& other);
at::Tensor chunk_squares(const at::Tensor& x, std::int64_t chunk);
void adamw(const AdamW& settings, double weight_decay, const AdamWTensors& tensors);
void round_into(const at::Tensor& master, const at::Tensor& rounded);

void round_to_grid(const at::Tensor& x, int shift, const Largest& largest);
void add_on_grid(const at::Tensor& sum, const at::Tensor& x, int shift, Into into, const Largest& largest);
void from_integers(const at::Tensor& sum, int shift, const at::Tensor& x);
at::Tensor integer_chunk_squares(const at::Tensor& sum, int shift, std::int64_t chunk);

}  // namespace on_cuda
}  // namespace troika::kernels
