#include "cuda/launch.cuh"
#include "cuda/norm.h"
#include "cuda/norm_dispatch.h"

namespace troika::cuda {

void rms_norm_forward(const NormRows& rows, const NormInput& input, const void* w, double eps, void* y, float* rstd,
                      const Stream& stream) {
  dispatch::rms_norm_forward(OnStream{stream}, rows, input, w, eps, y, rstd);
}

std::int64_t rms_norm_backward_floats(const NormRows& rows) { return dispatch::rms_norm_backward_floats(rows); }
std::int64_t layer_norm_backward_floats(const NormRows& rows) { return dispatch::layer_norm_backward_floats(rows); }

void rms_norm_backward(const NormRows& rows, const void* dy, const void* x, const void* w, const float* rstd,
                       const void* plus, void* dx, float* dw, float* workspace, const Stream& stream) {
  dispatch::rms_norm_backward(OnStream{stream}, rows, dy, x, w, rstd, plus, dx, dw, workspace);
}

void layer_norm_forward(const NormRows& rows, const NormInput& input, const void* w, const void* bias, double eps,
                        void* y, float* mean, float* rstd, const Stream& stream) {
  dispatch::layer_norm_forward(OnStream{stream}, rows, input, w, bias, eps, y, mean, rstd);
}

void layer_norm_backward(const NormRows& rows, const void* dy, const void* x, const void* w, const float* mean,
                         const float* rstd, const void* plus, void* dx, float* dw, float* dbias, float* workspace,
                         const Stream& stream) {
  dispatch::layer_norm_backward(OnStream{stream}, rows, dy, x, w, mean, rstd, plus, dx, dw, dbias, workspace);
}

}  // namespace troika::cuda
