// What is done to queries and keys between their product and attention where positions are rotary: the norm of each head,
// then the turn. The two norms' weights, q's first, are a flat piece of a segment's buffer.
// Shapes: B sequences, T positions, n query and k key heads, H head width, I pairs. Dtypes as in kernels/precision.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "kernels/qk_norm_rope.h"

namespace troika::model {

struct QueriesAndKeys {
  at::Tensor q_BTnH, k_BTkH;  // may be strided views, last dim contiguous
};

struct RotationSaved {
  kernels::QkNormRopeSaved q, k;
  std::int64_t bytes() const { return q.bytes() + k.bytes(); }
};

class Rotation {
 public:
  // `rope` has a row for every position of this rank.
  Rotation(std::int64_t head_dim, double eps, const kernels::RopeTable& rope);
  std::int64_t elements() const { return 2 * H; }

  QueriesAndKeys forward(const at::Tensor& w_2H, const QueriesAndKeys& x, RotationSaved& saved) const;
  // Writes dx and dw_2H, fp32.
  void backward(const at::Tensor& w_2H, const QueriesAndKeys& dy, const QueriesAndKeys& x, const RotationSaved& saved,
                const QueriesAndKeys& dx, const at::Tensor& dw_2H) const;

 private:
  at::Tensor of_q(const at::Tensor& w_2H) const { return w_2H.narrow(0, 0, H); }
  at::Tensor of_k(const at::Tensor& w_2H) const { return w_2H.narrow(0, H, H); }

  const std::int64_t H;
  const double eps_;
  const kernels::RopeTable rope_;
};

}  // namespace troika::model
