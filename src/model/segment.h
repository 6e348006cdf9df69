// A segment is the smallest piece of the model that the step program can name: the embedding, one block, or final norm
// + head. Forward and backward are written out by hand; nothing here uses autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "kernels/output_loss.h"

namespace troika::model {

// One microbatch's tokens on the device. B sequences of T positions, M = B * T.
struct Tokens {
  at::Tensor ids_M;      // int64
  at::Tensor targets_M;  // int64; -100: no loss
  std::int64_t B = 0, T = 0;
};

// A segment's share of a stage's flat buffer (parameters or gradients), one-dimensional, and the table of a tied
// embedding where the segment reads or writes one that lies elsewhere.
struct SegmentBuffer {
  at::Tensor flat;
  at::Tensor tied_VD;
};

// What forward leaves for backward. bytes() shrinks as backward_input drops what backward_weight does not need.
class Saved {
 public:
  virtual ~Saved() = default;
  virtual std::int64_t bytes() const = 0;
};

struct ForwardResult {
  at::Tensor y_MD;        // undefined for the head
  kernels::LossSum loss;  // of the head; zero elsewhere
  std::unique_ptr<Saved> saved;
};

enum class Keep { nothing, for_backward };

// Threads: const, safe; Saved belongs to one microbatch.
class Segment {
 public:
  virtual ~Segment() = default;

  // x_MD: input of the segment (undefined for the embedding). With Keep::nothing `saved` stays null.
  virtual ForwardResult forward(const SegmentBuffer& parameters, const at::Tensor& x_MD, const Tokens& tokens,
                                Keep keep) const = 0;

  // dy_MD: gradient of the output (undefined for the head, whose loss is summed over tokens and scaled by
  // 1 / (B * T)). Returns dx_MD, undefined for the embedding.
  virtual at::Tensor backward_input(const SegmentBuffer& parameters, const at::Tensor& dy_MD, const Tokens& tokens,
                                    Saved& saved) const = 0;

  // Writes (never adds) this microbatch's gradient of every parameter. After backward_input.
  virtual void backward_weight(const SegmentBuffer& gradients, const Tokens& tokens, Saved& saved) const = 0;
};

}  // namespace troika::model
