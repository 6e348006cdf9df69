#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/attention_backward_task.cc"
#include "cpu/attention_backward_task.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "cpu/attention_packing-inl.h"
#include "cpu/attention_products-inl.h"
#include "cpu/attention_softmax-inl.h"
#include "cpu/lanes16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu::HWY_NAMESPACE {
namespace {

// Dense copies for a chunk of keys and a block of queries.
struct BackwardBlocks {
  BackwardBlocks(std::int64_t H, std::int64_t keys)
      : width(dense_width(H)),
        memory(4 * keys * width + attention_block * (2 * H + 3 * width + 2 * attention_block)),
        k_SH(memory.take(keys * width)),
        v_SH(memory.take(keys * width)),
        dk_SH(memory.take(keys * width)),
        dv_SH(memory.take(keys * width)),
        q_HT(memory.take(attention_block * H)),
        dout_HT(memory.take(attention_block * H)),
        q_TH(memory.take(attention_block * width)),
        dout_TH(memory.take(attention_block * width)),
        dq_TH(memory.take(attention_block * width)),
        p_ST(memory.take(attention_block * attention_block)),
        ds_ST(memory.take(attention_block * attention_block)) {}
  std::int64_t width;
  Scratch memory;
  float *k_SH, *v_SH, *dk_SH, *dv_SH, *q_HT, *dout_HT, *q_TH, *dout_TH, *dq_TH, *p_ST, *ds_ST;
  alignas(64) float lse[attention_block], dot[attention_block];
  AttentionBounds bounds;
};

template <class X, class Y>
HWY_INLINE float dot_product(const X* x, const Y* y, std::int64_t count) {
  F16 sums = set16(0);
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) sums = mul_add(load16(x + i), load16(y + i), sums);
  float total = sum(sums);
  for (; i < count; ++i) total += to_float(x[i]) * to_float(y[i]);
  return total;
}

void dot_rows_of_target(const BackwardCall& call, std::int64_t begin_row, std::int64_t end_row, float* dot_BnT) {
  const Attention& op = call.op;
  const Heads &dout = call.result.dout, &out = call.result.out;
  for (std::int64_t i = begin_row; i < end_row; ++i) {
    const std::int64_t t = i % op.T, head = i / op.T % op.n, b = i / op.T / op.n;
    with_rows(dout, dout.first(b, t, head), 1, op.H, [&](auto x) HWY_ATTR {
      with_rows(out, out.first(b, t, head), 1, op.H,
                [&](auto y) HWY_ATTR { dot_BnT[i] = dot_product(x.data, y.data, op.H); });
    });
  }
}

void pack_queries(const BackwardCall& call, std::int64_t b, std::int64_t head, Run queries, BackwardBlocks& x) {
  const Attention& op = call.op;
  const std::int64_t count = queries.count, row = (b * op.n + head) * op.T + queries.begin;
  const Heads &q = call.q, &dout = call.result.dout;
  with_rows(q, q.first(b, queries.begin, head), count, op.H,
            [&](auto rows) HWY_ATTR { pack_rows(rows, static_cast<float>(op.scale), x.q_TH); });
  with_rows(dout, dout.first(b, queries.begin, head), count, op.H,
            [&](auto rows) HWY_ATTR { pack_rows(rows, 1, x.dout_TH); });
  pack_transposed(HeadRows<const float>{x.q_TH, x.width, count, op.H}, 1, x.q_HT);
  pack_transposed(HeadRows<const float>{x.dout_TH, x.width, count, op.H}, 1, x.dout_HT);
  // Where nothing is seen, and beyond the last query, the weights are exp(score - inf) = 0.
  std::fill_n(x.lse, attention_block, std::numeric_limits<float>::infinity());
  std::fill_n(x.dot, attention_block, 0.0f);
  for (std::int64_t t = 0; t < count; ++t) {
    const float lse = call.result.lse[row + t];
    if (lse != -std::numeric_limits<float>::infinity()) x.lse[t] = lse;
    x.dot[t] = call.dot_BnT[static_cast<std::size_t>(row + t)];
  }
}

// p and ds of one block of keys, which begins at row `row` of the chunk's copies.
void weigh_keys(const BackwardCall& call, std::int64_t b, Run queries, Run keys, std::int64_t row,
                const AttentionView& view, BackwardBlocks& x) {
  const std::int64_t T = padded_rows(queries.count), S = padded_rows(keys.count);
  const auto span_of = [&](std::int64_t s, std::int64_t t, std::int64_t width) {
    return Span{0, s < t + width + view.reach ? call.op.H : 0};
  };
  multiply(S, T, ByRow{x.k_SH + row * x.width, x.width}, x.q_HT, attention_block, {x.p_ST, attention_block}, Store{},
           span_of);
  multiply(S, T, ByRow{x.v_SH + row * x.width, x.width}, x.dout_HT, attention_block, {x.ds_ST, attention_block},
           Store{}, span_of);
  if (!view.everything) fill_bounds(call.op, b, queries, keys, x.bounds);
  weights_and_their_gradients({x.p_ST, keys.count, T, view.reach, view.everything ? nullptr : &x.bounds}, x.lse, x.dot,
                              x.ds_ST);
}

void add_gradients(Run queries, Run keys, std::int64_t row, std::int64_t reach, BackwardBlocks& x) {
  const std::int64_t T = padded_rows(queries.count), S = padded_rows(keys.count), width = x.width;
  const auto queries_of = [&](std::int64_t s, std::int64_t, std::int64_t) {
    return Span{std::max<std::int64_t>(s - reach, 0), queries.count};
  };
  const auto keys_of = [&](std::int64_t t, std::int64_t, std::int64_t) {
    return Span{0, std::min(t + kTileRows + reach, keys.count)};
  };
  multiply(S, width, ByRow{x.p_ST, attention_block}, x.dout_TH, width, {x.dv_SH + row * width, width}, Add{},
           queries_of);
  multiply(S, width, ByRow{x.ds_ST, attention_block}, x.q_TH, width, {x.dk_SH + row * width, width}, Add{}, queries_of);
  multiply(T, width, ByColumn{x.ds_ST, attention_block}, x.k_SH + row * width, width, {x.dq_TH, width}, Add{}, keys_of);
}

void put_rows(const float* dense, double scale, Onto onto, HeadRows<float> y) {
  const auto factor = static_cast<float>(scale);
  if (onto == Onto::earlier) return add_rows(dense, factor, y);
  write_rows(
      dense, [=](std::int64_t) { return factor; }, y);
}

void add_query_block(const BackwardCall& call, const BackwardTask& task, std::int64_t head, Run queries,
                     BackwardBlocks& x) {
  const Attention& op = call.op;
  const bool sees = view_of(op, task.b, queries, task.keys).anything;
  if (!sees && task.dq == Onto::earlier) return;
  if (sees) pack_queries(call, task.b, head, queries, x);
  std::fill_n(x.dq_TH, attention_block * x.width, 0.0f);
  for (std::int64_t row = 0; sees && row < task.keys.count; row += attention_block) {
    const Run keys{task.keys.begin + row, std::min(attention_block, task.keys.count - row)};
    const AttentionView view = view_of(op, task.b, queries, keys);
    if (!view.anything) continue;
    weigh_keys(call, task.b, queries, keys, row, view, x);
    add_gradients(queries, keys, row, view.reach, x);
  }
  put_rows(x.dq_TH, op.scale, task.dq,
           {call.dq.at(task.b, queries.begin, head), call.dq.row_stride, queries.count, op.H});
}

void backward_task_of_target(const BackwardCall& call, const BackwardTask& task) {
  const auto& [b, kv, queries, keys, dq, dkv] = task;
  const std::int64_t H = call.op.H;
  if (!view_of(call.op, b, queries, keys).anything && dq == Onto::earlier && dkv == Onto::earlier) return;
  BackwardBlocks x(H, padded(keys.count, attention_block));
  with_rows(call.k, call.k.first(b, keys.begin, kv), keys.count, H,
            [&](auto rows) HWY_ATTR { pack_rows(rows, 1, x.k_SH); });
  with_rows(call.v, call.v.first(b, keys.begin, kv), keys.count, H,
            [&](auto rows) HWY_ATTR { pack_rows(rows, 1, x.v_SH); });
  std::fill_n(x.dk_SH, padded_rows(keys.count) * x.width, 0.0f);
  std::fill_n(x.dv_SH, padded_rows(keys.count) * x.width, 0.0f);
  for (const std::int64_t head : call.readers_of_kv[static_cast<std::size_t>(kv)])
    for (std::int64_t t = 0; t < queries.count; t += attention_block)
      add_query_block(call, task, head, {queries.begin + t, std::min(attention_block, queries.count - t)}, x);
  put_rows(x.dk_SH, 1, dkv, {call.dk.at(b, keys.begin, kv), call.dk.row_stride, keys.count, H});
  put_rows(x.dv_SH, 1, dkv, {call.dv.at(b, keys.begin, kv), call.dv.row_stride, keys.count, H});
}

}  // namespace
}  // namespace troika::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {
HWY_EXPORT(backward_task_of_target);
HWY_EXPORT(dot_rows_of_target);

void dot_rows(const BackwardCall& call, std::int64_t begin, std::int64_t end, float* dot_BnT) {
  HWY_DYNAMIC_DISPATCH(dot_rows_of_target)(call, begin, end, dot_BnT);
}

void backward_task(const BackwardCall& call, const BackwardTask& task) {
  HWY_DYNAMIC_DISPATCH(backward_task_of_target)(call, task);
}

}  // namespace troika::cpu
#endif
