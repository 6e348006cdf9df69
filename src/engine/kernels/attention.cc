#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/exact_math.h"
#include "cpu/attention.h"
#include "cpu/parallel.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/vocabulary.h"
#include "tensor/device.h"
#include "tensor/operations.h"

namespace troika::kernels {
namespace {

constexpr std::int64_t merged_rows_at_once = 16;

tensor::Tensor empty_float(const tensor::Tensor& like) {
  return tensor::empty(like.sizes(), like.type().of(tensor::Dtype::fp32));
}

// The tensors of sequence b of a batch that both directions read, kept alive while they run. `input` must outlive it.
struct Operands {
  Operands(const AttentionInput& input, std::int64_t b)
      : q(heads_operand(input.q_BTnH.narrow(0, b, 1))),
        k(heads_operand(input.k_BSkH.narrow(0, b, 1))),
        v(heads_operand(input.v_BSkH.narrow(0, b, 1))) {
    op.M = q.size(1);
    op.N = k.size(1);
    op.n = q.size(2);
    op.k = k.size(2);
    op.H = q.size(3);
    op.kv_of_head = input.kv_of_head.data();
    op.scale = input.rule.scale_for(op.H);
    op.window = input.rule.window;
    for (const AttentionPart& part : input.parts) op.parts.push_back({part.q.begin, part.q.count, part.k.begin, part.k.count, part.reach});
    if (op.parts.empty()) op.parts.push_back({0, op.M, 0, op.N, input.q_offset - input.k_offset});
  }
  tensor::Tensor q, k, v;
  cpu::Attention op;
};

AttentionOutput cpu_forward(const AttentionInput& input) {
  const tensor::Tensor& q_BTnH = input.q_BTnH;
  const tensor::Tensor out_BTnH = empty_operand(q_BTnH, q_BTnH.sizes());
  const tensor::Tensor lse_BnT = empty_statistics(q_BTnH, {q_BTnH.size(0), q_BTnH.size(2), q_BTnH.size(1)});
  for (std::int64_t b = 0; b < q_BTnH.size(0); ++b) {
    const Operands x(input, b);
    cpu::attention_forward(x.op, heads_view<cpu::Heads>(x.q), heads_view<cpu::Heads>(x.k), heads_view<cpu::Heads>(x.v),
                           heads_view<cpu::MutableHeads>(out_BTnH.narrow(0, b, 1)), lse_BnT[b].data<float>());
  }
  return {to_dtype_of(input.q_BTnH, out_BTnH), lse_BnT};
}

AttentionGradients cpu_backward(const tensor::Tensor& dout_BTnH, const AttentionInput& input,
                                const AttentionOutput& output) {
  const tensor::Tensor out = heads_operand(output.out_BTnH), dout = heads_operand(dout_BTnH),
                       lse = output.lse_BnT.contiguous();
  const tensor::Tensor dq = empty_float(input.q_BTnH), dk = empty_float(input.k_BSkH), dv = empty_float(input.v_BSkH);
  for (std::int64_t b = 0; b < out.size(0); ++b) {
    const Operands x(input, b);
    const auto of = [b](const tensor::Tensor& all) { return all.narrow(0, b, 1); };
    cpu::attention_backward(x.op, heads_view<cpu::Heads>(x.q), heads_view<cpu::Heads>(x.k), heads_view<cpu::Heads>(x.v),
                            {heads_view<cpu::Heads>(of(out)), heads_view<cpu::Heads>(of(dout)), lse[b].data<float>()},
                            float_heads(of(dq)), float_heads(of(dk)), float_heads(of(dv)));
  }
  return {to_dtype_of(input.q_BTnH, dq), to_dtype_of(input.k_BSkH, dk), to_dtype_of(input.v_BSkH, dv)};
}

// The weight in a total of a part with the log-sum-exp `of_part`: 0 where it sees no key.
float share_of(float of_part, float of_total) {
  const float shift = of_total == -std::numeric_limits<float>::infinity() ? 0.0f : of_total;
  return static_cast<float>(base::exp(static_cast<double>(of_part - shift)));
}

// The outputs of two parts, each times its share. lse_BnT: of the total, contiguous.
tensor::Tensor sum_of_shares(const AttentionOutput& a, const AttentionOutput& b, const tensor::Tensor& lse_BnT) {
  if (!lse_BnT.is_cpu()) return on_cuda::sum_of_shares(a, b, lse_BnT);
  const tensor::Tensor a_BTnH = to_float(a.out_BTnH).contiguous(), b_BTnH = to_float(b.out_BTnH).contiguous();
  const tensor::Tensor a_BnT = a.lse_BnT.contiguous(), b_BnT = b.lse_BnT.contiguous(), sum_BTnH = tensor::empty(a_BTnH.sizes());
  const std::int64_t T = sum_BTnH.size(1), n = sum_BTnH.size(2), H = sum_BTnH.size(3);
  const float *of_a = a_BTnH.data<float>(), *of_b = b_BTnH.data<float>(), *lse = lse_BnT.data<float>();
  const float *lse_a = a_BnT.data<float>(), *lse_b = b_BnT.data<float>();
  float* const sum = sum_BTnH.data<float>();
  cpu::parallel_pieces(sum_BTnH.size(0) * T, merged_rows_at_once, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin * n; row < end * n; ++row) {
      const std::int64_t bt = row / n, at = (bt / T * n + row % n) * T + bt % T;
      const float share_a = share_of(lse_a[at], lse[at]), share_b = share_of(lse_b[at], lse[at]);
      for (std::int64_t i = row * H; i < (row + 1) * H; ++i) sum[i] = of_a[i] * share_a + of_b[i] * share_b;
    }
  });
  return sum_BTnH;
}

}  // namespace

std::vector<AttentionPart> equal_parts(std::int64_t B, std::int64_t T) {
  std::vector<AttentionPart> parts;
  for (std::int64_t b = 0; b < B; ++b) parts.push_back({{b * T, T}, {b * T, T}, 0});
  return parts;
}

base::Text why_products(const AttentionInput& input) {
  return input.q_BTnH.is_cpu() ? base::Text() : on_cuda::why_products(input);
}

AttentionOutput attention_forward(const AttentionInput& input) {
  if (input.q_BTnH.is_cpu()) return cpu_forward(input);
  return on_cuda::attention_forward(input);
}

void attention_merge(AttentionOutput& sum, const AttentionOutput& part) {
  const tensor::Tensor lse_BnT = log_add_exp(sum.lse_BnT, part.lse_BnT);
  sum = {sum_of_shares(sum, part, lse_BnT), lse_BnT};
}

AttentionGradients attention_backward(const tensor::Tensor& dout_BTnH, const AttentionInput& input,
                                      const AttentionOutput& output) {
  if (input.q_BTnH.is_cpu()) return cpu_backward(dout_BTnH, input, output);
  return on_cuda::attention_backward(dout_BTnH, input, output);
}

namespace {

tensor::Tensor cache_operand(const tensor::Tensor& x_SkH) {
  const tensor::Tensor x = to_float(x_SkH);
  return x.stride(2) == 1 ? x : x.contiguous();
}

cpu::FloatHeads cache_heads(const tensor::Tensor& x_SkH) {
  return {x_SkH.data<float>(), 0, x_SkH.stride(0), x_SkH.stride(1)};
}

// The last keys and values of each sequence, as many as the rule's window shows.
std::vector<KeysAndValues> seen_of(const std::vector<KeysAndValues>& sequences, const ScoreRule& rule) {
  std::vector<KeysAndValues> seen;
  for (const auto& [k_SkH, v_SkH] : sequences) {
    const std::int64_t S = k_SkH.size(0), count = rule.window > 0 ? std::min(rule.window, S) : S;
    seen.push_back({k_SkH.narrow(0, S - count, count), v_SkH.narrow(0, S - count, count)});
  }
  return seen;
}

tensor::Tensor cpu_row_attention(const tensor::Tensor& q_BnH, const std::vector<KeysAndValues>& sequences, double scale) {
  const tensor::Tensor q = to_float(q_BnH).contiguous(), out_BnH = tensor::empty(q.sizes(), q.type());
  std::vector<tensor::Tensor> kept;
  std::vector<cpu::CachedSequence> all;
  for (const KeysAndValues& one : sequences) {
    kept.push_back(cache_operand(one.k_SkH));
    kept.push_back(cache_operand(one.v_SkH));
    all.push_back({one.k_SkH.size(0), cache_heads(kept[kept.size() - 2]), cache_heads(kept.back())});
  }
  const cpu::RowAttention op{q.size(1), sequences.front().k_SkH.size(1), q.size(2), scale};
  cpu::attend_rows(op, all, q.data<float>(), out_BnH.data<float>());
  return to_dtype_of(q_BnH, out_BnH);
}

// The heads that read one key/value head pass for as many positions, since each sees every key.
tensor::Tensor attend(const tensor::Tensor& q_nH, const KeysAndValues& sequence, double scale) {
  const std::int64_t n = q_nH.size(0), H = q_nH.size(1), S = sequence.k_SkH.size(0), k = sequence.k_SkH.size(1);
  std::vector<std::int64_t> own(static_cast<std::size_t>(k));
  std::iota(own.begin(), own.end(), 0);
  const tensor::Tensor q_1gkH = q_nH.reshape({1, k, n / k, H}).transpose(1, 2);
  const tensor::Tensor out_1gkH =
      attention_forward({q_1gkH, sequence.k_SkH.unsqueeze(0), sequence.v_SkH.unsqueeze(0), own, S - 1, 0, {}, {scale, 0}}).out_BTnH;
  return out_1gkH.transpose(1, 2).reshape({n, H});
}

}  // namespace

tensor::Tensor row_attention(const tensor::Tensor& q_BnH, const std::vector<KeysAndValues>& sequences, const ScoreRule& rule) {
  if (sequences.empty()) return tensor::empty_like(q_BnH);
  const double scale = rule.scale_for(q_BnH.size(2));
  const std::vector<KeysAndValues> seen = seen_of(sequences, rule);
  if (q_BnH.is_cpu()) return cpu_row_attention(q_BnH, seen, scale);
  std::vector<tensor::Tensor> out_nH;
  for (std::size_t b = 0; b < seen.size(); ++b) out_nH.push_back(attend(q_BnH[static_cast<std::int64_t>(b)], seen[b], scale));
  return tensor::stack(out_nH);
}

Sight sight_of(const CausalWindow& w) {
  const std::int64_t first = w.q_offset - w.k_offset;  // the key at the first query's position
  if (w.T == 0 || w.S == 0 || first + w.T <= 0 || (w.window > 0 && first - w.window >= w.S - 1)) return Sight::nothing;
  if (w.window > 0 && first + w.T > w.window) return Sight::other;  // the last query does not see the first key
  if (first >= w.S - 1) return Sight::everything;
  return first + w.T == w.S ? Sight::diagonal : Sight::other;
}

}  // namespace troika::kernels
