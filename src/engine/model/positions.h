// The positions of rows in their sequences.
#pragma once

#include <cstdint>

#include "config/settings/settings.h"
#include "kernels/rope.h"
#include "model/segment.h"
#include "shape/architecture.h"
#include "tensor/tensor.h"

namespace troika::model {

// Positions of sequences of at most seq_len.
struct Positions {
  std::int64_t seq_len = 0;
  // A row for every position; undefined where positions are learned. local: of blocks with such a table; undefined without any.
  kernels::RopeTable rope, local;
  bool learned() const { return !rope.cos_TI.defined(); }
  const kernels::RopeTable& of(shape::BlockKind::Table table) const { return table == shape::BlockKind::Table::local ? local : rope; }
};

// The rows that belong to the positions of `tokens`. For a model with rotary positions.
kernels::RopeTable rope_of(const Positions& positions, const Tokens& tokens, shape::BlockKind::Table table);

// For a model with rotary positions.
kernels::RopeFrequencies rope_frequencies(const config::ModelSettings& model, shape::BlockKind::Table table);

// ConfigError when a learned table is shorter than seq_len.
Positions make_positions(const config::ModelSettings& model, std::int64_t seq_len, const tensor::Device& device);

// BugError when a sequence is longer than `positions` was made for.
void check_positions(const Positions& positions, const Tokens& tokens);

// The steps between the projection of queries and keys and attention where positions are rotary: in blocks of some kinds
// the norm of each head, then the turn. The two norms' weights, q's first, are a flat piece of a segment's buffer.
// Shapes: B is 1, T rows, n query and k key heads, H head width, W = elements(). Dtypes as in
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
  const kernels::Gain gain_;
  const double eps_;
};

}  // namespace troika::model
