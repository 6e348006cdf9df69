// Causal attention with an explicit key/value head per query head, position offsets and document bounds; returns the
// log-sum-exp so that pieces of a context can be combined. T. Dao, "FlashAttention-2", 2023, for the backward from lse.
// Shapes: B sequences, T query positions, S key positions, n query heads, k key/value heads, H head width.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace troika::kernels {

struct AttentionInput {
  at::Tensor q_BTnH, k_BSkH, v_BSkH;     // fp32; may be strided views, last dim contiguous
  std::vector<std::int64_t> kv_of_head;  // size n: which key/value head a query head reads
  std::int64_t q_offset = 0;  // position of q[:, 0] and of k[:, 0]; query t sees keys with position <= its own
  std::int64_t k_offset = 0;
  at::Tensor first_key_BT;  // int64, optional: the first key position a query may see (its document's start)
};

struct AttentionOutput {
  at::Tensor out_BTnH;  // contiguous; a query that sees no key gives 0
  at::Tensor lse_BnT;   // log of the sum of exp(score); -inf where no key is seen
};
AttentionOutput attention_forward(const AttentionInput& input);

struct AttentionGradients {
  at::Tensor dq_BTnH, dk_BSkH, dv_BSkH;
};
AttentionGradients attention_backward(const at::Tensor& dout_BTnH, const AttentionInput& input,
                                      const AttentionOutput& output);

}  // namespace troika::kernels
