// Operations on rows: norms, activations and dropout. Dtypes as in cpu_operands.h.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "tensor/tensor.h"

namespace troika::kernels {

// RMSNorm and LayerNorm over the last dim. Shapes: M rows, D width; contiguous. A forward with `plus` adds it to x first, in place and
// rounded to x's dtype; CUDA devices do both in one pass.

// What an RMSNorm multiplies by: w, or 1 + w, which is how Gemma stores its gains.
enum class Gain { weight, one_plus_weight };
constexpr float added_to_weight(Gain gain) { return gain == Gain::one_plus_weight ? 1.0f : 0.0f; }

// y = x / sqrt(mean(x^2) + eps) * gain. B. Zhang, R. Sennrich, "Root Mean Square Layer Normalization", 2019.
struct RmsNormSaved {
  tensor::Tensor rstd_M;  // fp32, 1 / sqrt(mean(x^2) + eps); x itself is kept by the caller
  std::int64_t bytes() const { return rstd_M.defined() ? static_cast<std::int64_t>(rstd_M.bytes()) : 0; }
};

// Returns y_MD; fills `saved` when it is not null.
tensor::Tensor rms_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, double eps, RmsNormSaved* saved,
                                const tensor::Tensor& plus_MD = {}, Gain gain = Gain::weight);

// Returns dx_MD = gradient + plus_MD (in dy's dtype, may be undefined: the gradient that goes round the norm) and writes
// dw_D, fp32.
tensor::Tensor rms_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                                 const RmsNormSaved& saved, const tensor::Tensor& dw_D,
                                 const tensor::Tensor& plus_MD = {}, Gain gain = Gain::weight);

// y = (x - mean(x)) / sqrt(var(x) + eps) * w + bias. J. Ba et al., "Layer Normalization", 2016.
struct LayerNormSaved {
  tensor::Tensor mean_M, rstd_M;  // fp32; x itself is kept by the caller
  std::int64_t bytes() const {
    return mean_M.defined() ? static_cast<std::int64_t>(mean_M.bytes() + rstd_M.bytes()) : 0;
  }
};

// Returns y_MD; fills `saved` when it is not null.
tensor::Tensor layer_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, const tensor::Tensor& bias_D,
                                  double eps, LayerNormSaved* saved, const tensor::Tensor& plus_MD = {});

// Returns dx_MD = gradient + plus_MD (in dy's dtype, may be undefined) and writes dw_D and dbias_D, fp32.
tensor::Tensor layer_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                                   const LayerNormSaved& saved, const tensor::Tensor& dw_D,
                                   const tensor::Tensor& dbias_D, const tensor::Tensor& plus_MD = {});

// The activations of feed-forward layers, over contiguous matrices. Rows of the gradients may have a stride.

// h = silu(gate) * up. N. Shazeer, "GLU Variants Improve Transformer", 2020. gate_up holds the two projections side by side:
// [M, 2F], gate first.
tensor::Tensor swiglu_forward(const tensor::Tensor& gate_up_M2F);                                // h_MF
tensor::Tensor swiglu_backward(const tensor::Tensor& dh_MF, const tensor::Tensor& gate_up_M2F);  // d(gate_up)_M2F

// The same with GELU by its tanh approximation in place of silu.
tensor::Tensor geglu_forward(const tensor::Tensor& gate_up_M2F);                                // h_MF
tensor::Tensor geglu_backward(const tensor::Tensor& dh_MF, const tensor::Tensor& gate_up_M2F);  // d(gate_up)_M2F

// GELU by its tanh approximation, as GPT-2 uses it: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). D. Hendrycks,
// K. Gimpel, "Gaussian Error Linear Units", 2016.
tensor::Tensor gelu_forward(const tensor::Tensor& x);
tensor::Tensor gelu_backward(const tensor::Tensor& dy, const tensor::Tensor& x);  // dx

// Dropout whose mask is a function of what an element is, not of where or when it is computed: every layout and every
// recomputation draws the same. N. Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
// Overfitting", 2014 (here inverted: kept elements are divided by the kept fraction).

// The rows of a microbatch at a step, in runs of positions of one sample that count up by 1; rows behind the runs are dropped. Steps
// and samples count modulo 2^32.
struct DropoutRows {
  struct Run {
    std::int64_t sample = 0, position = 0, count = 0;
  };
  std::uint64_t step = 0;
  std::vector<Run> runs;
};

// x_MI with elements set to 0 with probability `share`, rounded to 2^-16, the others times 1 / (1 - that); its dtype.
// Column i is element first_column + i of the stream `random`. Any device; the same mask on all of them.
tensor::Tensor dropout(const tensor::Tensor& x_MI, const base::Philox& random, const DropoutRows& rows,
                       std::int64_t first_column, double share);

// Compares 16 random bits: below `threshold` an element is dropped, else multiplied by `kept`.
struct DropoutShare {
  std::uint32_t threshold = 0;
  float kept = 1;
};
DropoutShare dropout_share(double share);

}  // namespace troika::kernels
