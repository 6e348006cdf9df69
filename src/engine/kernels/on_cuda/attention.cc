// Attention by the accelerator's library where it does it, else by products of matrices: the scores of a chunk of queries exist at a time.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "base/say.h"
#include "cuda/attention_dispatch.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {
namespace {

using shape::chunk_queries;
using shape::spaced;
using tensor::Sum;
using tensor::Tensor;

// Neighbouring key/value heads that equally many query heads read each.
struct HeadGroup {
  std::int64_t first_kv = 0, kv = 0, first_head = 0, of_each = 0;
  std::int64_t heads() const { return kv * of_each; }
};

// Query heads in the order of the key/value heads that they read, so that those of one are together.
class HeadOrder {
 public:
  HeadOrder(const std::vector<std::int64_t>& kv_of_head, std::int64_t k) : order_(kv_of_head.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    const auto kv_of = [&](std::int64_t head) { return kv_of_head[static_cast<std::size_t>(head)]; };
    std::stable_sort(order_.begin(), order_.end(), [&](std::int64_t a, std::int64_t b) { return kv_of(a) < kv_of(b); });
    std::int64_t head = 0;
    for (std::int64_t kv = 0; kv < k; ++kv) {
      const std::int64_t readers = std::count(kv_of_head.begin(), kv_of_head.end(), kv);
      if (readers == 0) continue;
      if (groups_.empty() || groups_.back().of_each != readers || groups_.back().first_kv + groups_.back().kv != kv)
        groups_.push_back({kv, 0, head, readers});
      ++groups_.back().kv;
      head += readers;
    }
  }

  const std::vector<HeadGroup>& groups() const { return groups_; }

  // x with its heads, dimension `dim`, in this order; and the other way.
  Tensor ordered(const Tensor& x, int dim) const {
    if (is_theirs()) return x;
    std::vector<Tensor> heads;
    for (const std::int64_t head : order_) heads.push_back(x.select(dim, head));
    return tensor::stack(heads, dim);
  }
  Tensor as_they_were(const Tensor& x, int dim) const {
    if (is_theirs()) return x;
    const Tensor y = tensor::empty_like(x);
    for (std::size_t i = 0; i < order_.size(); ++i)
      y.select(dim, order_[i]).copy_from(x.select(dim, static_cast<std::int64_t>(i)));
    return y;
  }

 private:
  bool is_theirs() const { return std::is_sorted(order_.begin(), order_.end()); }
  std::vector<std::int64_t> order_;
  std::vector<HeadGroup> groups_;
};

// Queries [begin, begin + T) of sequence b, whose heads in `group` see at most S keys from first_key on.
struct Chunk {
  HeadGroup group;
  std::int64_t b = 0, begin = 0, T = 0, first_key = 0, S = 0;
};

// Sizes, and which chunks there are.
class Pieces {
 public:
  Pieces(const AttentionInput& input, std::int64_t scores_bytes)
      : order(input.kv_of_head, input.k_BSkH.size(2)),
        B(input.q_BTnH.size(0)),
        T(input.q_BTnH.size(1)),
        S(input.k_BSkH.size(1)),
        first_query(input.q_offset - input.k_offset),
        scores_bytes_(scores_bytes),
        window_(input.rule.window),
        scale_(static_cast<float>(input.rule.scale_for(input.q_BTnH.size(3)))) {}

  // S is 0 for chunks whose queries see nothing.
  template <class Visit>
  void each(const Visit& visit) const {
    for (const HeadGroup& group : order.groups()) {
      const std::int64_t rows = chunk_queries(group.heads(), T, S, scores_bytes_);
      for (std::int64_t b = 0; b < B; ++b) {
        for (std::int64_t begin = 0; begin < T; begin += rows) {
          const std::int64_t count = std::min(rows, T - begin);
          const std::int64_t end = std::clamp<std::int64_t>(first_query + begin + count, 0, S);
          const std::int64_t first = window_ > 0 ? std::clamp<std::int64_t>(first_query + begin - window_ + 1, 0, end) : 0;
          visit(Chunk{group, b, begin, count, first, end - first});
        }
      }
    }
  }

  // Uninitialised fp32, [kv, queries of a group's heads, S]; rows begin at multiples of 16 bytes.
  Tensor scores_of(const Chunk& c, const Tensor& like) const {
    return tensor::empty({c.group.kv, c.group.of_each * c.T, spaced(c.S)}, like.type().of(tensor::Dtype::fp32)).narrow(2, 0, c.S);
  }
  cuda::ScoreRows rows_of(const Chunk& c, const Tensor& scores) const {
    return {c.group.heads(), c.T, c.S, scores.stride(1), T, first_query + c.begin - c.first_key, window_, scale_};
  }
  // The chunk's part of statistics [B, n, T].
  float* statistics_of(const Chunk& c, const Tensor& x_BnT) const {
    return x_BnT.data<float>() + (c.b * x_BnT.size(1) + c.group.first_head) * T + c.begin;
  }

  const HeadOrder order;
  const std::int64_t B, T, S, first_query;

 private:
  const std::int64_t scores_bytes_, window_;
  const float scale_;
};

// The chunk's rows of [B, T, n, H], as [heads, T, H].
Tensor heads_of(const Tensor& x_BTnH, const Chunk& c) {
  return x_BTnH.select(0, c.b).narrow(0, c.begin, c.T).narrow(1, c.group.first_head, c.group.heads()).transpose(0, 1);
}
// The same with the heads that read one key/value head below each other, [kv, heads of each T, H].
Tensor queries_of(const Tensor& x_BTnH, const Chunk& c) {
  const Tensor x_nTH = heads_of(x_BTnH, c);
  return c.group.of_each == 1 ? x_nTH : x_nTH.contiguous().view({c.group.kv, c.group.of_each * c.T, x_nTH.size(2)});
}
// [kv, S, H]
Tensor keys_of(const Tensor& x_BSkH, const Chunk& c) {
  return x_BSkH.select(0, c.b).narrow(0, c.first_key, c.S).narrow(1, c.group.first_kv, c.group.kv).transpose(0, 1);
}

// The rows of dtype `like` that a kernel left in the first part of rows of fp32.
Tensor rewritten(const Tensor& rows, const Tensor& like) {
  return like.dtype() == rows.dtype() ? rows : rows.bits_as(like.dtype()).narrow(2, 0, rows.size(2));
}

void multiply(const Tensor& a, const Tensor& b, const Tensor& out, const Tensor& plus = {}) {
  a.device().accelerator().multiply(a, b, out, {}, plus);
}

// The chunk's rows of out become a b.
void multiply_into_heads(const Tensor& a, const Tensor& b, const Tensor& out_BTnH, const Chunk& c) {
  const Tensor to = heads_of(out_BTnH, c);
  if (c.group.of_each == 1) return multiply(a, b, to);
  const Tensor product = tensor::empty({a.size(0), a.size(1), b.size(2)}, out_BTnH.type());
  multiply(a, b, product);
  to.copy_from(product.view(to.sizes()));
}

cuda::HeadRows head_rows(const Tensor& x_BTnH) {
  return {x_BTnH.size(0), x_BTnH.size(1), x_BTnH.size(2), x_BTnH.size(3)};
}

Tensor dots_of(const Tensor& a_BTnH, const Tensor& b_BTnH) {
  const bool alike = a_BTnH.dtype() == b_BTnH.dtype();
  const Tensor a = (alike ? a_BTnH : to_float(a_BTnH)).contiguous(), b = (alike ? b_BTnH : to_float(b_BTnH)).contiguous();
  const Tensor dots_BnT = tensor::empty({a.size(0), a.size(2), a.size(1)}, a.type().of(tensor::Dtype::fp32));
  dispatch::head_dots(OnDevice(a), head_rows(a), a.dtype(), a.data(), b.data(), dots_BnT.data<float>());
  return dots_BnT;
}

// The request to the accelerator: every query sees a key, and their numbers decide which it sees; query heads read key/value
// heads in equal groups. Else the reason against it.
struct Dense {
  std::optional<tensor::AttentionMask> mask;
  base::Text why_not;
};
Dense dense(const AttentionInput& input) {
  const std::int64_t n = input.q_BTnH.size(2), k = input.k_BSkH.size(2);
  bool equal_groups = n % k == 0;
  for (std::int64_t head = 0; equal_groups && head < n; ++head)
    equal_groups = input.kv_of_head[static_cast<std::size_t>(head)] == head / (n / k);
  if (!equal_groups) return {{}, base::say("cuDNN is not used for {} query heads that share {} key/value heads in unequal groups", n, k)};
  const CausalWindow window{input.q_BTnH.size(1), input.k_BSkH.size(1), input.q_offset, input.k_offset, input.rule.window};
  const Sight sight = sight_of(window);
  if (input.rule.scale_for(input.q_BTnH.size(3)) != ScoreRule().scale_for(input.q_BTnH.size(3)))
    return {{}, base::say("cuDNN is not used for scores scaled by {}", input.rule.scale)};
  if (window.window > 0 && sight == Sight::other)
    return {{}, base::say("cuDNN is not used for {} queries in a window of {} positions", window.T, window.window)};
  if (sight == Sight::everything) return {tensor::AttentionMask::none, {}};
  if (sight == Sight::diagonal && window.q_offset >= window.k_offset) return {tensor::AttentionMask::causal, {}};
  return {{}, base::say("cuDNN is not used for a part of a context in which some of {} queries see none of {} keys", window.T, window.S)};
}

std::optional<AttentionOutput> attend(const AttentionInput& input) {
  const std::optional<tensor::AttentionMask> mask = dense(input).mask;
  if (!mask) return std::nullopt;
  const Tensor& q = input.q_BTnH;
  const AttentionOutput to{tensor::empty(q.sizes(), q.type()),
                           tensor::empty({q.size(0), q.size(2), q.size(1)}, q.type().of(tensor::Dtype::fp32))};
  if (!q.device().accelerator().attend({q, input.k_BSkH, input.v_BSkH, *mask}, to.out_BTnH, to.lse_BnT)) return std::nullopt;
  return to;
}

std::optional<AttentionGradients> attend_backward(const Tensor& dout_BTnH, const AttentionInput& input,
                                                  const AttentionOutput& output) {
  const std::optional<tensor::AttentionMask> mask = dense(input).mask;
  if (!mask) return std::nullopt;
  const Tensor &q = input.q_BTnH, &k = input.k_BSkH, &v = input.v_BSkH;
  const Tensor dout = to_dtype_of(q, dout_BTnH).contiguous(), out = to_dtype_of(q, output.out_BTnH).contiguous();
  const AttentionGradients to{tensor::empty(q.sizes(), q.type()), tensor::empty(k.sizes(), k.type()),
                              tensor::empty(v.sizes(), v.type())};
  if (!q.device().accelerator().attend_backward({q, k, v, *mask}, dout, out, output.lse_BnT.contiguous(), to.dq_BTnH, to.dk_BSkH,
                                                to.dv_BSkH))
    return std::nullopt;
  return to;
}

// Sequences of one length that follow each other, as a batch; nothing where parts are others.
std::optional<AttentionInput> as_batch(const AttentionInput& input) {
  const std::int64_t T = input.parts.front().q.count, M = input.q_BTnH.size(1), B = static_cast<std::int64_t>(input.parts.size());
  for (std::int64_t b = 0; b < B; ++b) {
    const AttentionPart& part = input.parts[static_cast<std::size_t>(b)];
    const bool next = part.q.begin == b * T && part.k.begin == b * T && part.q.count == T && part.k.count == T;
    if (!next || part.reach != 0) return std::nullopt;
  }
  if (B * T != M || input.k_BSkH.size(1) != M) return std::nullopt;
  const auto batch = [&](const Tensor& x) { return x[0].view({B, T, x.size(2), x.size(3)}); };
  return AttentionInput{batch(input.q_BTnH), batch(input.k_BSkH), batch(input.v_BSkH), input.kv_of_head, 0, 0, {}, input.rule};
}

// Rows of [1, M, n, H], with rows of 0 behind them up to `length`.
Tensor rows_of_part(const Tensor& x, const shape::Range& rows, std::int64_t length) {
  const Tensor own = x.narrow(1, rows.begin, rows.count);
  if (length == rows.count) return own;
  const Tensor filled = tensor::zeros({1, length, x.size(2), x.size(3)}, x.type());
  filled.narrow(1, 0, rows.count).copy_from(own);
  return filled;
}

// A sequence's own queries and keys are computed in lengths of whole `plan_rows`, so that the library's plans are few: a query sees
// no row of the filling, which is behind it, and the filling's gradients are 0 because those of its outputs are.
constexpr std::int64_t plan_rows = 64;
AttentionInput input_of_part(const AttentionInput& input, const AttentionPart& part) {
  const bool own = part.reach == 0 && part.q.count == part.k.count;
  const auto length = [&](std::int64_t count) { return own ? (count + plan_rows - 1) / plan_rows * plan_rows : count; };
  return {rows_of_part(input.q_BTnH, part.q, length(part.q.count)), rows_of_part(input.k_BSkH, part.k, length(part.k.count)),
          rows_of_part(input.v_BSkH, part.k, length(part.k.count)), input.kv_of_head, part.reach, 0, {}, input.rule};
}

AttentionOutput forward_of_parts(const AttentionInput& input, std::int64_t scores_bytes) {
  const Tensor& q = input.q_BTnH;
  const AttentionOutput all{tensor::zeros(q.sizes(), q.type()),
                            tensor::empty({1, q.size(2), q.size(1)}, q.type().of(tensor::Dtype::fp32))};
  all.lse_BnT.fill(-INFINITY);
  for (const AttentionPart& part : input.parts) {
    const AttentionOutput one = attention_forward(input_of_part(input, part), scores_bytes);
    all.out_BTnH.narrow(1, part.q.begin, part.q.count).copy_from(one.out_BTnH.narrow(1, 0, part.q.count));
    all.lse_BnT.narrow(2, part.q.begin, part.q.count).copy_from(one.lse_BnT.narrow(2, 0, part.q.count));
  }
  return all;
}

AttentionGradients backward_of_parts(const Tensor& dout_BTnH, const AttentionInput& input, const AttentionOutput& output,
                                     std::int64_t scores_bytes) {
  const Tensor &q = input.q_BTnH, &k = input.k_BSkH, &v = input.v_BSkH;
  const AttentionGradients all{tensor::zeros(q.sizes(), q.type()), tensor::zeros(k.sizes(), k.type()), tensor::zeros(v.sizes(), v.type())};
  for (const AttentionPart& part : input.parts) {
    const AttentionInput own = input_of_part(input, part);
    const std::int64_t length = own.q_BTnH.size(1);
    const Tensor lse = tensor::zeros({1, q.size(2), length}, output.lse_BnT.type());
    lse.narrow(2, 0, part.q.count).copy_from(output.lse_BnT.narrow(2, part.q.begin, part.q.count));
    const AttentionGradients one = attention_backward(rows_of_part(dout_BTnH, part.q, length), own,
                                                      {rows_of_part(output.out_BTnH, part.q, length), lse}, scores_bytes);
    all.dq_BTnH.narrow(1, part.q.begin, part.q.count).copy_from(one.dq_BTnH.narrow(1, 0, part.q.count));
    all.dk_BSkH.narrow(1, part.k.begin, part.k.count).copy_from(one.dk_BSkH.narrow(1, 0, part.k.count));
    all.dv_BSkH.narrow(1, part.k.begin, part.k.count).copy_from(one.dv_BSkH.narrow(1, 0, part.k.count));
  }
  return all;
}

}  // namespace

base::Text why_products(const AttentionInput& input) {
  if (!input.parts.empty()) {
    const std::optional<AttentionInput> batch = as_batch(input);
    return on_cuda::why_products(batch ? *batch : input_of_part(input, input.parts.front()));
  }
  const Dense asked = dense(input);
  if (!asked.mask) return asked.why_not;
  const Tensor& q = input.q_BTnH;
  return q.device().accelerator().attention_lacks({q, input.k_BSkH, input.v_BSkH, *asked.mask});
}

AttentionOutput attention_forward(const AttentionInput& input, std::int64_t scores_bytes) {
  if (!input.parts.empty()) {
    const std::optional<AttentionInput> batch = as_batch(input);
    if (!batch) return forward_of_parts(input, scores_bytes);
    const AttentionOutput output = attention_forward(*batch, scores_bytes);  // of the batch: [B, n, T]
    return {output.out_BTnH.view(input.q_BTnH.sizes()),
            output.lse_BnT.transpose(0, 1).contiguous().view({1, input.q_BTnH.size(2), input.q_BTnH.size(1)})};
  }
  if (std::optional<AttentionOutput> output = attend(input)) return *std::move(output);
  const Pieces pieces(input, scores_bytes);
  const Tensor q = pieces.order.ordered(input.q_BTnH, 2), out = tensor::empty(q.sizes(), q.type());
  const Tensor lse = tensor::empty({pieces.B, q.size(2), pieces.T}, q.type().of(tensor::Dtype::fp32));
  pieces.each([&](const Chunk& c) {
    if (c.S == 0) {
      heads_of(out, c).zero();
      lse.select(0, c.b).narrow(0, c.group.first_head, c.group.heads()).narrow(1, c.begin, c.T).fill(-INFINITY);
      return;
    }
    const Tensor scores = pieces.scores_of(c, q);
    multiply(queries_of(q, c), keys_of(input.k_BSkH, c).transpose(1, 2), scores);
    dispatch::softmax(OnDevice(q), pieces.rows_of(c, scores), scores.data<float>(), q.dtype(), pieces.statistics_of(c, lse));
    multiply_into_heads(rewritten(scores, q), keys_of(input.v_BSkH, c), out, c);
  });
  return {pieces.order.as_they_were(out, 2), pieces.order.as_they_were(lse, 1)};
}

AttentionGradients attention_backward(const Tensor& dout_BTnH, const AttentionInput& input, const AttentionOutput& output,
                                      std::int64_t scores_bytes) {
  if (!input.parts.empty()) {
    const std::optional<AttentionInput> batch = as_batch(input);
    if (!batch) return backward_of_parts(dout_BTnH, input, output, scores_bytes);
    const std::int64_t B = batch->q_BTnH.size(0), T = batch->q_BTnH.size(1);
    const auto of_batch = [&](const Tensor& x) { return x.contiguous().view({B, T, x.size(2), x.size(3)}); };
    const Tensor lse = output.lse_BnT.contiguous().view({input.q_BTnH.size(2), B, T}).transpose(0, 1).contiguous();
    const AttentionGradients d =
        attention_backward(of_batch(dout_BTnH), *batch, {of_batch(output.out_BTnH), lse}, scores_bytes);
    return {d.dq_BTnH.view(input.q_BTnH.sizes()), d.dk_BSkH.view(input.k_BSkH.sizes()), d.dv_BSkH.view(input.v_BSkH.sizes())};
  }
  if (std::optional<AttentionGradients> gradients = attend_backward(dout_BTnH, input, output)) return *std::move(gradients);
  const Pieces pieces(input, scores_bytes);
  const Tensor &k = input.k_BSkH, &v = input.v_BSkH, q = pieces.order.ordered(input.q_BTnH, 2);
  const Tensor dout = pieces.order.ordered(to_dtype_of(q, dout_BTnH), 2);
  const Tensor dots = pieces.order.ordered(dots_of(dout_BTnH, output.out_BTnH), 1).contiguous();
  const Tensor lse = pieces.order.ordered(output.lse_BnT, 1).contiguous();
  const Tensor dq = tensor::empty(q.sizes(), q.type()), dk = tensor::zeros(k.sizes(), k.type().of(tensor::Dtype::fp32)),
               dv = tensor::zeros(v.sizes(), dk.type());
  pieces.each([&](const Chunk& c) {
    if (c.S == 0) return static_cast<void>(heads_of(dq, c).zero());
    const Tensor scores = pieces.scores_of(c, q), gradients = pieces.scores_of(c, q);
    const Tensor queries = queries_of(q, c), douts = queries_of(dout, c);
    multiply(queries, keys_of(k, c).transpose(1, 2), scores);
    multiply(douts, keys_of(v, c).transpose(1, 2), gradients);
    dispatch::softmax_gradient(OnDevice(q), pieces.rows_of(c, scores), scores.data<float>(), gradients.data<float>(), q.dtype(),
                               pieces.statistics_of(c, lse), pieces.statistics_of(c, dots));
    const Tensor weights = rewritten(scores, q), dscores = rewritten(gradients, q);
    multiply(weights.transpose(1, 2), douts, keys_of(dv, c), keys_of(dv, c));
    multiply(dscores.transpose(1, 2), queries, keys_of(dk, c), keys_of(dk, c));
    multiply_into_heads(dscores, keys_of(k, c), dq, c);
  });
  return {pieces.order.as_they_were(dq, 2), to_dtype_of(k, dk), to_dtype_of(v, dv)};
}

tensor::Tensor sum_of_shares(const AttentionOutput& a, const AttentionOutput& b, const Tensor& lse_BnT) {
  const Tensor of_a = to_float(a.out_BTnH).contiguous(), of_b = to_float(b.out_BTnH).contiguous();
  const Tensor lse_a = a.lse_BnT.contiguous(), lse_b = b.lse_BnT.contiguous(), sum_BTnH = tensor::empty_like(of_a);
  dispatch::sum_of_shares(OnDevice(of_a), head_rows(of_a), {of_a.data<float>(), lse_a.data<float>()},
                          {of_b.data<float>(), lse_b.data<float>()}, lse_BnT.data<float>(), sum_BTnH.data<float>());
  return sum_BTnH;
}

}  // namespace troika::kernels::on_cuda
