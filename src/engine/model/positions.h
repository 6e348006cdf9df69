// The positions of this rank's rows in their sequences.
#pragma once

#include <cstdint>

#include "config/settings/settings.h"
#include "kernels/rope.h"
#include "model/segment.h"
#include "shape/architecture.h"
#include "sharding/context_group.h"
#include "tensor/tensor.h"

namespace troika::model {

// Positions of a sequence of at most seq_len, under context parallelism exactly seq_len: a row for every position of
// this rank, as the architecture's positions need it.
struct Positions {
  std::int64_t seq_len = 0;
  kernels::RopeTable rope, whole_rope;  // rotary; of all positions
  tensor::Tensor index_T;                   // learned; int64
};

// The rows that belong to the positions of `tokens`, which restart at 0 in each packed document.
kernels::RopeTable rope_of(const Positions& positions, const Tokens& tokens);  // rotary
tensor::Tensor learned_rows_of(const Positions& positions, const Tokens& tokens);  // learned; int64, [B * T]

// For a model with rotary positions.
kernels::RopeFrequencies rope_frequencies(const config::ModelSettings& model);

// ConfigError when a learned table is shorter than seq_len.
Positions make_positions(const config::ModelSettings& model, std::int64_t seq_len, const tensor::Device& device,
                         const sharding::ContextGroup& context);

// BugError when the microbatch is longer than `positions` was made for.
void check_positions(const Positions& positions, const Tokens& tokens, const sharding::ContextGroup& context);

// The steps between the projection of queries and keys and attention where positions are rotary: in blocks of some kinds
// the norm of each head, then the turn. The two norms' weights, q's first, are a flat piece of a segment's buffer.
// Shapes: B sequences, T positions, n query and k key heads, H head width, W = elements(). Dtypes as in
// kernels/cpu_operands.h.
struct QueriesAndKeys {
  tensor::Tensor q_BTnH, k_BTkH;  // may be strided views, last dim contiguous
};

struct RotationSaved {
  kernels::QkNormRopeSaved q, k;
  std::int64_t bytes() const { return q.bytes() + k.bytes(); }
};

class Rotation {
 public:
  Rotation(const config::ModelSettings& model, const shape::BlockKind& kind);
  std::int64_t elements() const { return normed_ ? 2 * H : 0; }

  QueriesAndKeys forward(const tensor::Tensor& w_W, const QueriesAndKeys& x, const kernels::RopeTable& rope,
                         RotationSaved& saved) const;
  // Writes dx and dw_W, fp32.
  void backward(const tensor::Tensor& w_W, const QueriesAndKeys& dy, const QueriesAndKeys& x,
                const kernels::RopeTable& rope, const RotationSaved& saved, const QueriesAndKeys& dx,
                const tensor::Tensor& dw_W) const;

 private:
  tensor::Tensor of_q(const tensor::Tensor& w_W) const { return w_W.narrow(0, 0, H); }
  tensor::Tensor of_k(const tensor::Tensor& w_W) const { return w_W.narrow(0, H, H); }

  const std::int64_t H;
  const bool normed_;
  const double eps_;
};

}  // namespace troika::model
