#include <cmath>
#include <limits>

#include "kernels/cpu_operands.h"
#include "kernels/vocabulary.h"
#include "kernels/reference/reference_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels::reference {
namespace {

at::Tensor head_index(const AttentionInput& input) {
  return at::tensor(input.kv_of_head, at::TensorOptions().dtype(at::kLong));
}

// [B, T, n, H] -> [B*n, T, H] in fp32
at::Tensor by_head(const at::Tensor& x_BTnH) {
  const std::int64_t G = x_BTnH.size(0) * x_BTnH.size(2);
  return to_float(x_BTnH.transpose(1, 2).reshape({G, x_BTnH.size(1), x_BTnH.size(3)}));
}

// [B*n, T, H] -> contiguous [B, T, n, H]
at::Tensor by_position(const at::Tensor& x_GTH, std::int64_t B) {
  return x_GTH.view({B, x_GTH.size(0) / B, x_GTH.size(1), x_GTH.size(2)}).transpose(1, 2).contiguous();
}

at::Tensor hidden_keys(const at::Tensor& key_S, const at::Tensor& query_T, std::int64_t window) {
  const at::Tensor behind_TS = key_S > query_T.unsqueeze(1);
  return window > 0 ? behind_TS.logical_or(key_S <= query_T.unsqueeze(1) - window) : behind_TS;
}

// True where a query may not look; [T, S].
at::Tensor hidden_mask(const AttentionInput& input) {
  const auto options = at::TensorOptions().dtype(at::kLong);
  const std::int64_t T = input.q_BTnH.size(1), S = input.k_BSkH.size(1);
  if (input.parts.empty())
    return hidden_keys(at::arange(input.k_offset, input.k_offset + S, options), at::arange(input.q_offset, input.q_offset + T, options), input.rule.window);
  const at::Tensor hidden_TS = at::ones({T, S}, at::kBool);
  for (const AttentionPart& part : input.parts)
    hidden_TS.narrow(0, part.q.begin, part.q.count)
        .narrow(1, part.k.begin, part.k.count)
        .copy_(hidden_keys(at::arange(part.k.count, options), at::arange(part.q.count, options) + part.reach, input.rule.window));
  return hidden_TS;
}

// Scaled scores with -inf where hidden, [B, n, T, S]; `q`, `k` are by head.
at::Tensor masked_scores(const AttentionInput& input, const at::Tensor& q_GTH, const at::Tensor& k_GSH) {
  const std::int64_t B = input.q_BTnH.size(0), n = input.q_BTnH.size(2);
  at::Tensor scores_GTS =
      at::bmm(q_GTH, k_GSH.transpose(1, 2)).mul_(input.rule.scale_for(q_GTH.size(2)));
  at::Tensor scores_BnTS = scores_GTS.view({B, n, scores_GTS.size(1), scores_GTS.size(2)});
  return scores_BnTS.masked_fill_(hidden_mask(input), -std::numeric_limits<float>::infinity());
}

// To subtract from scores: with 0 for -inf, exp gives 0 for a query that sees nothing.
at::Tensor finite(const at::Tensor& lse_BnT) {
  return lse_BnT.masked_fill(lse_BnT == -std::numeric_limits<float>::infinity(), 0.0);
}

// exp(score - lse): the attention weights. In place.
at::Tensor weights_from(at::Tensor scores_BnTS, const at::Tensor& lse_BnT) {
  return scores_BnTS.sub_(finite(lse_BnT).unsqueeze(3)).exp_();
}

// Query heads that share a key/value head add up in head order.
at::Tensor sum_by_kv_head(const at::Tensor& gradient_GSH, const AttentionInput& input, const at::Tensor& like_BSkH) {
  const auto n = static_cast<std::int64_t>(input.kv_of_head.size());
  const at::Tensor gradient_BnSH = gradient_GSH.view({like_BSkH.size(0), n, like_BSkH.size(1), like_BSkH.size(3)});
  const at::Tensor sum_BSkH = at::zeros(like_BSkH.sizes(), gradient_GSH.options());
  for (std::int64_t head = 0; head < n; ++head)
    sum_BSkH.select(2, input.kv_of_head[static_cast<std::size_t>(head)]).add_(gradient_BnSH.select(1, head));
  return to_dtype_of(like_BSkH, sum_BSkH);
}

}  // namespace

AttentionOutput attention_forward(const AttentionInput& input) {
  const at::Tensor heads = head_index(input);
  const at::Tensor k_GSH = by_head(tensor::theirs(input.k_BSkH).index_select(2, heads));
  const at::Tensor scores = masked_scores(input, by_head(input.q_BTnH), k_GSH);
  const at::Tensor lse_BnT = at::logsumexp(scores, {3});
  const at::Tensor weights_GTS = weights_from(scores, lse_BnT).flatten(0, 1);
  const at::Tensor out_GTH = at::bmm(weights_GTS, by_head(tensor::theirs(input.v_BSkH).index_select(2, heads)));
  return {by_position(to_dtype_of(input.q_BTnH, out_GTH), input.q_BTnH.size(0)), lse_BnT};
}

void attention_merge(AttentionOutput& sum, const AttentionOutput& part) {
  const at::Tensor lse_BnT = log_add_exp(sum.lse_BnT, part.lse_BnT), shift_BnT = finite(lse_BnT);
  const auto share = [&](const AttentionOutput& of) {
    return to_float(of.out_BTnH) * (of.lse_BnT - shift_BnT).exp_().transpose(1, 2).unsqueeze(3);
  };
  sum = {share(sum).add_(share(part)), lse_BnT};
}

AttentionGradients attention_backward(const at::Tensor& dout_BTnH, const AttentionInput& input,
                                      const AttentionOutput& output) {
  const std::int64_t B = input.q_BTnH.size(0);
  const double scale = input.rule.scale_for(input.q_BTnH.size(3));
  const at::Tensor heads = head_index(input);
  const at::Tensor q_GTH = by_head(input.q_BTnH), k_GSH = by_head(tensor::theirs(input.k_BSkH).index_select(2, heads));
  const at::Tensor v_GSH = by_head(tensor::theirs(input.v_BSkH).index_select(2, heads)), dout_GTH = by_head(dout_BTnH);
  const at::Tensor p_GTS = weights_from(masked_scores(input, q_GTH, k_GSH), output.lse_BnT).flatten(0, 1);

  const at::Tensor dot_GT1 = (tensor::theirs(to_float(dout_BTnH)) * to_float(output.out_BTnH))
                                 .sum(-1)
                                 .transpose(1, 2)
                                 .reshape({q_GTH.size(0), q_GTH.size(1), 1});
  const at::Tensor ds_GTS = at::bmm(dout_GTH, v_GSH.transpose(1, 2)).sub_(dot_GT1).mul_(p_GTS).mul_(scale);

  return {by_position(to_dtype_of(input.q_BTnH, at::bmm(ds_GTS, k_GSH)), B),
          sum_by_kv_head(at::bmm(ds_GTS.transpose(1, 2), q_GTH), input, input.k_BSkH),
          sum_by_kv_head(at::bmm(p_GTS.transpose(1, 2), dout_GTH), input, input.v_BSkH)};
}

}  // namespace troika::kernels::reference
