// AttentionHalf over keys and values that earlier calls have left. Shapes: T rows of one sequence, S positions that it has
// with them, B sequences of one row each; the rest as in block_halves.h.

#include <algorithm>

#include "kernels/attention.h"
#include "model/block_halves.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::model {

// Returns the rows' attention, [M, n, H], in the dtype of the caches.
tensor::Tensor AttentionHalf::attend(const tensor::Tensor& q_MnH, const NewRows& rows, std::int64_t block) const {
  const bool single =
      std::all_of(rows.parts.begin(), rows.parts.end(), [](const NewRows::Part& part) { return part.count == 1; });
  std::vector<kernels::KeysAndValues> sequences;
  std::vector<tensor::Tensor> out_TnH;
  for (const NewRows::Part& part : rows.parts) {
    const std::int64_t before = part.cache->length(), S = before + part.count;
    const tensor::Tensor k_1SkH = part.cache->keys(block, S), v_1SkH = part.cache->values(block, S);
    if (single) {
      sequences.push_back({k_1SkH[0], v_1SkH[0]});
    } else {
      const tensor::Tensor q_1TnH = q_MnH.narrow(0, part.first, part.count).unsqueeze(0);
      out_TnH.push_back(kernels::attention_forward({q_1TnH, k_1SkH, v_1SkH, kv_of_head_, before, 0, {}}).out_BTnH[0]);
    }
  }
  return single ? kernels::row_attention(q_MnH, sequences) : tensor::cat(out_TnH);
}

tensor::Tensor AttentionHalf::extend(const tensor::Tensor& parameters, const tensor::Tensor& x_MD, const NewRows& rows,
                                     std::int64_t block) const {
  const Weights w = weights({parameters, {}});
  LowRankSaved no_adapter;
  Tokens tokens;
  tokens.B = 1;
  tokens.T = x_MD.size(0);
  const tensor::Tensor qkv_MC = qkv_.forward(w.qkv, norm_->forward(w.norm_E, x_MD, nullptr), tokens, no_adapter);
  QueriesAndKeys both = queries_and_keys(qkv_MC, tokens);
  RotationSaved unused;
  if (rotation_) both = rotation_->forward(w.rotation_W, both, rows.rope, unused);
  const tensor::Tensor v_1MkH = heads(qkv_MC, tokens, n + k, k);
  for (const NewRows::Part& part : rows.parts) {
    const auto of_part = [&](const tensor::Tensor& x_1MkH) { return x_1MkH[0].narrow(0, part.first, part.count); };
    part.cache->write(block, of_part(both.k_BTkH), of_part(v_1MkH));
  }
  const tensor::Tensor q_MnH = both.q_BTnH[0].to(rows.parts.front().cache->dtype());
  const tensor::Tensor out_MA = attend(q_MnH, rows, block).reshape({tokens.T, n * H}).to(x_MD.dtype());
  return o_.forward(w.o, out_MA, tokens, no_adapter);
}

}  // namespace troika::model
