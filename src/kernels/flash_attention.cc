#include "kernels/flash_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::kernels {
namespace {

Sight sight_of(const AttentionInput& input) {
  return kernels::sight_of({input.q_BTnH.size(1), input.k_BSkH.size(1), input.q_offset, input.k_offset});
}

bool read_in_equal_groups(const std::vector<std::int64_t>& kv_of_head, std::int64_t k) {
  const auto n = static_cast<std::int64_t>(kv_of_head.size());
  if (n % k != 0) return false;
  for (std::int64_t head = 0; head < n; ++head) {
    if (kv_of_head[static_cast<std::size_t>(head)] != head / (n / k)) return false;
  }
  return true;
}

// The key/value head of every query head. Not by index_select: the index would have to be copied to the device.
tensor::Tensor of_query_heads(const tensor::Tensor& x_BSkH, const std::vector<std::int64_t>& kv_of_head) {
  std::vector<tensor::Tensor> x_BSH;
  for (const std::int64_t head : kv_of_head) x_BSH.push_back(x_BSkH.select(2, head));
  return tensor::stack(x_BSH, 2);
}

// Query heads that share a key/value head add up in head order.
tensor::Tensor sum_by_kv_head(const tensor::Tensor& gradient_BSnH, const AttentionInput& input) {
  const tensor::Tensor& k = input.k_BSkH;
  const tensor::Tensor sum_BSkH = tensor::zeros(k.sizes(), k.type().of(tensor::Dtype::fp32));
  for (std::size_t head = 0; head < input.kv_of_head.size(); ++head)
    tensor::add(sum_BSkH.select(2, input.kv_of_head[head]), gradient_BSnH.select(2, static_cast<std::int64_t>(head)));
  return to_dtype_of(k, sum_BSkH);
}

// As flash attention takes it: [B, T, n, H], or rows of all sequences.
tensor::Tensor flash_rows(const tensor::Tensor& x_BTnH, const Varlen& varlen) {
  return varlen.defined() ? x_BTnH.flatten(0, 1) : x_BTnH;
}

void check_rows(const AttentionInput& input) {
  const Varlen& varlen = input.documents.varlen;
  const std::int64_t queries = input.q_BTnH.size(0) * input.q_BTnH.size(1),
                     keys = input.k_BSkH.size(0) * input.k_BSkH.size(1);
  if (!varlen.defined() || (varlen.queries == queries && varlen.keys == keys)) return;
  throw base::BugError(fmt::format("attention has {} queries and {} keys, but its documents are of {} and {}", queries,
                                   keys, varlen.queries, varlen.keys));
}

FlashInput flash_input(const AttentionInput& input) {
  check_rows(input);
  const Varlen& varlen = input.documents.varlen;
  const bool groups = read_in_equal_groups(input.kv_of_head, input.k_BSkH.size(2));
  const auto keys = [&](const tensor::Tensor& x_BSkH) {
    return flash_rows(groups ? x_BSkH : of_query_heads(x_BSkH, input.kv_of_head), varlen);
  };
  return {flash_rows(input.q_BTnH, varlen),
          keys(input.k_BSkH),
          keys(input.v_BSkH),
          varlen,
          sight_of(input) == Sight::diagonal ? FlashMask::causal : FlashMask::full,
          1.0 / std::sqrt(static_cast<double>(input.q_BTnH.size(3)))};
}

// [B, n, T] from [B, n, T] or [n, B * T], and back.
tensor::Tensor lse_of_heads(const FlashOutput& output, const AttentionInput& input) {
  if (!input.documents.varlen.defined()) return output.lse;
  const tensor::Tensor& q = input.q_BTnH;
  return output.lse.view({q.size(2), q.size(0), q.size(1)}).transpose(0, 1).contiguous();
}
tensor::Tensor lse_of_rows(const tensor::Tensor& lse_BnT, const AttentionInput& input) {
  return input.documents.varlen.defined() ? lse_BnT.transpose(0, 1).flatten(1) : lse_BnT;
}

// The log-sum-exp of a query that sees no key: by the first exp(lse) is 0 in a merge, by the second exp(score - lse) in
// backward.
constexpr float blind_lse = -std::numeric_limits<float>::infinity(), flash_blind_lse = -blind_lse;
tensor::Tensor with_blind(const tensor::Tensor& lse, const AttentionInput& input, float blind) {
  if (!input.documents.first_key_BT.defined() && input.q_offset >= input.k_offset) return lse;  // every query sees a key
  const tensor::Tensor changed = lse.clone();
  if (!changed.is_cpu()) {
    on_cuda::replace_infinity(changed, blind);
    return changed;
  }
  std::replace_if(
      changed.data<float>(), changed.data<float>() + changed.elements(), [](float x) { return std::isinf(x); }, blind);
  return changed;
}

AttentionOutput output_of_nothing(const tensor::Tensor& q) {
  return {tensor::zeros(q.sizes(), q.type()),
          tensor::full({q.size(0), q.size(2), q.size(1)}, blind_lse, q.type().of(tensor::Dtype::fp32))};
}

tensor::Tensor contiguous_zeros(const tensor::Tensor& like) { return tensor::zeros(like.sizes(), like.type()); }

}  // namespace

bool flash_attention_takes(const AttentionInput& input) {
  const DocumentBounds& documents = input.documents;
  return sight_of(input) != Sight::other && documents.first_key_BT.defined() == documents.varlen.defined();
}

AttentionOutput flash_attention_forward(const AttentionInput& input, const FlashForward& forward) {
  if (sight_of(input) == Sight::nothing) return output_of_nothing(input.q_BTnH);
  const FlashOutput output = forward(flash_input(input));
  return {output.out.contiguous().view(input.q_BTnH.sizes()), with_blind(lse_of_heads(output, input), input, blind_lse)};
}

AttentionGradients flash_attention_backward(const tensor::Tensor& dout_BTnH, const AttentionInput& input,
                                            const AttentionOutput& output, const FlashBackward& backward) {
  const tensor::Tensor &q = input.q_BTnH, &k = input.k_BSkH, &v = input.v_BSkH;
  if (sight_of(input) == Sight::nothing) return {contiguous_zeros(q), contiguous_zeros(k), contiguous_zeros(v)};
  const FlashInput flash = flash_input(input);
  const auto of_rows = [&](const tensor::Tensor& x_BTnH) {
    return flash_rows(to_dtype_of(q, x_BTnH).contiguous(), flash.varlen);
  };
  const tensor::Tensor lse = with_blind(lse_of_rows(output.lse_BnT, input), input, flash_blind_lse).contiguous();
  const FlashGradients d = backward(of_rows(dout_BTnH), flash, {of_rows(output.out_BTnH), lse});
  const auto of_keys = [&](const tensor::Tensor& gradient) {
    const tensor::Tensor d_BSnH = gradient.contiguous().view({k.size(0), k.size(1), gradient.size(-2), k.size(3)});
    return read_in_equal_groups(input.kv_of_head, k.size(2)) ? d_BSnH : sum_by_kv_head(d_BSnH, input);
  };
  return {d.dq.contiguous().view(q.sizes()), of_keys(d.dk), of_keys(d.dv)};
}

}  // namespace troika::kernels
