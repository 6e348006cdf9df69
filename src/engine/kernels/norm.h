// RMSNorm and LayerNorm over the last dim. Shapes: M rows, D width; contiguous. Dtypes as in cpu_operands.h. A forward with
// `plus` adds it to x first, in place and rounded to x's dtype; CUDA devices do both in one pass.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troika::kernels {

// y = x / sqrt(mean(x^2) + eps) * w. B. Zhang, R. Sennrich, "Root Mean Square Layer Normalization", 2019.
struct RmsNormSaved {
  tensor::Tensor rstd_M;  // fp32, 1 / sqrt(mean(x^2) + eps); x itself is kept by the caller
  std::int64_t bytes() const { return rstd_M.defined() ? static_cast<std::int64_t>(rstd_M.bytes()) : 0; }
};

// Returns y_MD; fills `saved` when it is not null.
tensor::Tensor rms_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, double eps, RmsNormSaved* saved,
                            const tensor::Tensor& plus_MD = {});

// Returns dx_MD = gradient + plus_MD (in dy's dtype, may be undefined: the gradient that goes round the norm) and writes
// dw_D, fp32.
tensor::Tensor rms_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                             const RmsNormSaved& saved, const tensor::Tensor& dw_D, const tensor::Tensor& plus_MD = {});

// y = (x - mean(x)) / sqrt(var(x) + eps) * w + bias. J. Ba et al., "Layer Normalization", 2016.
struct LayerNormSaved {
  tensor::Tensor mean_M, rstd_M;  // fp32; x itself is kept by the caller
  std::int64_t bytes() const {
    return mean_M.defined() ? static_cast<std::int64_t>(mean_M.bytes() + rstd_M.bytes()) : 0;
  }
};

// Returns y_MD; fills `saved` when it is not null.
tensor::Tensor layer_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, const tensor::Tensor& bias_D, double eps,
                              LayerNormSaved* saved, const tensor::Tensor& plus_MD = {});

// Returns dx_MD = gradient + plus_MD (in dy's dtype, may be undefined) and writes dw_D and dbias_D, fp32.
tensor::Tensor layer_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                               const LayerNormSaved& saved, const tensor::Tensor& dw_D, const tensor::Tensor& dbias_D,
                               const tensor::Tensor& plus_MD = {});

}  // namespace troika::kernels
