#include "cuda/launch.cuh"
#include "cuda/rope.h"
#include "cuda/rope_dispatch.h"

namespace troika::cuda {

void rope(const Rope& op, Turn turn, const Heads& x, const MutableHeads& y, const Stream& stream) {
  dispatch::rope(OnStream{stream}, op, turn, x, y);
}

void qk_norm_rope_forward(const QkNormRope& op, double eps, const Heads& x, const MutableHeads& y, float* rstd,
                          const Stream& stream) {
  dispatch::qk_norm_rope_forward(OnStream{stream}, op, eps, x, y, rstd);
}

std::int64_t qk_norm_rope_backward_floats(const QkNormRope& op) { return dispatch::qk_norm_rope_backward_floats(op); }

void qk_norm_rope_backward(const QkNormRope& op, const Heads& dy, const Heads& x, const float* rstd,
                           const MutableHeads& dx, float* dw, float* workspace, const Stream& stream) {
  dispatch::qk_norm_rope_backward(OnStream{stream}, op, dy, x, rstd, dx, dw, workspace);
}

}  // namespace troika::cuda
