// Operations on tensors of an NVIDIA GPU, by the kernels of module cuda and by libtorch's flash attention, queued on the
// thread's current stream. Contracts are those of the functions of the same names in kernels. Only in builds with TROIKA_CUDA.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "kernels/activation.h"
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "kernels/flat.h"
#include "kernels/grid.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "tensor/tensor.h"

namespace troika::kernels {

// Of an operation that is there for the host alone.
[[noreturn]] inline void no_kernel(const tensor::Tensor& x) {
  throw base::BugError("an operation has no kernel for " + tensor::name_of(x.device()));
}

namespace on_cuda {

tensor::Tensor rms_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, double eps, RmsNormSaved* saved,
                            const tensor::Tensor& plus_MD);
tensor::Tensor rms_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                             const RmsNormSaved& saved, const tensor::Tensor& dw_D, const tensor::Tensor& plus_MD);
tensor::Tensor layer_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, const tensor::Tensor& bias_D, double eps,
                              LayerNormSaved* saved, const tensor::Tensor& plus_MD);
tensor::Tensor layer_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                               const LayerNormSaved& saved, const tensor::Tensor& dw_D, const tensor::Tensor& dbias_D,
                               const tensor::Tensor& plus_MD);

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
AttentionGradients attention_backward(const tensor::Tensor& dout_BTnH, const AttentionInput& input,
                                      const AttentionOutput& output);

tensor::Tensor rope_forward(const tensor::Tensor& x_BTnH, const RopeTable& rope);
void rope_backward(const tensor::Tensor& dy_BTnH, const RopeTable& rope, const tensor::Tensor& dx_BTnH);
tensor::Tensor qk_norm_rope_forward(const tensor::Tensor& x_BTnH, const tensor::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved);
void qk_norm_rope_backward(const tensor::Tensor& dy_BTnH, const tensor::Tensor& x_BTnH, const tensor::Tensor& w_H,
                           const RopeTable& rope, const QkNormRopeSaved& saved, const tensor::Tensor& dx_BTnH,
                           const tensor::Tensor& dw_H);

tensor::Tensor swiglu_forward(const tensor::Tensor& gate_up_M2F);
tensor::Tensor swiglu_backward(const tensor::Tensor& dh_MF, const tensor::Tensor& gate_up_M2F);
tensor::Tensor gelu_forward(const tensor::Tensor& x);
tensor::Tensor gelu_backward(const tensor::Tensor& dy, const tensor::Tensor& x);

tensor::Tensor dropout(const tensor::Tensor& x_MI, const base::Philox& random, const DropoutRows& rows,
                   std::int64_t first_column, const DropoutShare& share);

tensor::Tensor log_sum_exp(const tensor::Tensor& logits_Mv);
void cross_entropy_gradient(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M, const tensor::Tensor& column_M,
                            const tensor::Tensor& weight_M);

tensor::Tensor embedding_forward(const tensor::Tensor& ids_M, const tensor::Tensor& table_vD, std::int64_t first_row);
// Names every row: to know which ids there are, the thread would have to wait for the device.
NamedRows embedding_backward_weight(const tensor::Tensor& dx_MD, const tensor::Tensor& ids_M, std::int64_t first_row,
                                    std::int64_t v);

void linear_backward_bias(const tensor::Tensor& dy_MO, const tensor::Tensor& dbias_O);

void add_into(const tensor::Tensor& sum, const tensor::Tensor& other);
tensor::Tensor chunk_squares(const tensor::Tensor& x, std::int64_t chunk);
void adamw(const AdamW& settings, double weight_decay, const AdamWTensors& tensors);
void round_into(const tensor::Tensor& master, const tensor::Tensor& rounded);

void round_to_grid(const tensor::Tensor& x, int shift, const Largest& largest);
void add_on_grid(const tensor::Tensor& sum, const tensor::Tensor& x, int shift, Into into, const Largest& largest);
void from_integers(const tensor::Tensor& sum, int shift, const tensor::Tensor& x);
tensor::Tensor integer_chunk_squares(const tensor::Tensor& sum, int shift, std::int64_t chunk);

}  // namespace on_cuda
}  // namespace troika::kernels
