#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/attention_backward.cc"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/attention.h"
#include "cpu/attention_packing-inl.h"
#include "cpu/attention_products-inl.h"
#include "cpu/attention_softmax-inl.h"
#include "cpu/attention_tiles-inl.h"
#include "cpu/attention_view.h"
#include "cpu/lanes16-inl.h"
#include "cpu/parallel.h"

#ifndef TROIKA_CPU_ATTENTION_BACKWARD_ONCE
#define TROIKA_CPU_ATTENTION_BACKWARD_ONCE
namespace troika::cpu {

// Queries, and keys, of a task. Sums over more of them are made from sums over chunks, so bits depend on it.
constexpr std::int64_t attention_chunk = 4 * attention_block;

struct BackwardCall {
  Attention op;
  Heads q, k, v;
  AttentionResult result;
  MutableFloatHeads dq, dk, dv;
  std::vector<std::vector<std::int64_t>> readers_of_kv;
  Operands operands;
  float* dot_nM;  // sum over h of dout * out, from the first task that may reach the queries
};
// The first task that may reach some queries, or some keys, writes their gradients; later ones add.
enum class Onto { nothing, earlier };
struct BackwardTask {
  AttentionPart part;
  std::int64_t kv;
  Run queries, keys;
  Onto dq, dkv;
};

}  // namespace troika::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace troika::cpu::HWY_NAMESPACE {
namespace {

// Dense copies for a chunk of keys and a block of queries. What two products read with words along different indices is
// held twice, for floats once.
template <class Kind>
struct BackwardBlocks {
  using Word = typename Kind::Word;
  static constexpr bool kOnce = Kind::kPerWord == 1;
  BackwardBlocks(std::int64_t H, std::int64_t keys)
      : width(dense_width(H)),
        memory(4 * keys * width + attention_block * (2 * H + 4 * width + 3 * attention_block)),
        k_SH(memory.take<Word>(keys * width / Kind::kPerWord)),
        k_columns_SH(kOnce ? k_SH : memory.take<Word>(keys * width / Kind::kPerWord)),
        v_SH(memory.take<Word>(keys * width / Kind::kPerWord)),
        dk_SH(memory.take(keys * width)),
        dv_SH(memory.take(keys * width)),
        q_HT(memory.take<Word>(attention_block * words<Kind>(H))),
        dout_HT(memory.take<Word>(attention_block * words<Kind>(H))),
        q_TH(memory.take<Word>(attention_block * width / Kind::kPerWord)),
        dout_TH(memory.take<Word>(attention_block * width / Kind::kPerWord)),
        dq_TH(memory.take(attention_block * width)),
        scores_ST(memory.take(attention_block * attention_block)),
        dp_ST(memory.take(attention_block * attention_block)),
        weighed{reinterpret_cast<Word*>(scores_ST), reinterpret_cast<Word*>(dp_ST), reinterpret_cast<Word*>(dp_ST)} {
    if (kOnce) return;
    weighed.ds_columns = memory.take<Word>(attention_block * attention_block / Kind::kPerWord);
    rows_TH = memory.take<Word>(attention_block * width / Kind::kPerWord);
    if (Kind::kTiles) turned_TH = memory.take(attention_block * width);
  }
  std::int64_t width;
  Scratch memory;
  Word *k_SH, *k_columns_SH, *v_SH;  // words along h, along s, along h; of tiles k_columns_SH is [H][attention_block] for each block
  float *dk_SH, *dv_SH;
  Word *q_HT, *dout_HT, *q_TH, *dout_TH;  // words along the first
  Word* rows_TH = nullptr;                // while queries are packed; words along h
  float *dq_TH, *scores_ST, *dp_ST;  // of tiles dq is [H][attention_block]
  float* turned_TH = nullptr;
  Weighed<Kind> weighed;
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

// dot[t] = the sum over h of dout * out, of `count` rows of a head.
void dot_rows(const BackwardCall& call, std::int64_t row, std::int64_t head, std::int64_t count, float* dot) {
  const Heads &dout = call.result.dout, &out = call.result.out;
  const std::int64_t H = call.op.H;
  with_rows<Floats>(dout, dout.first(0, row, head), count, H, [&](auto x) HWY_ATTR {
    with_rows<Floats>(out, out.first(0, row, head), count, H, [&](auto y) HWY_ATTR {
      for (std::int64_t t = 0; t < count; ++t) dot[t] = dot_product(x.data + t * x.stride, y.data + t * y.stride, H);
    });
  });
}

template <class Kind>
void pack_queries(const BackwardCall& call, const AttentionPart& part, std::int64_t head, Run queries, BackwardBlocks<Kind>& x) {
  const Attention& op = call.op;
  const std::int64_t count = queries.count, first = part.q_begin + queries.begin, row = head * op.M + first;
  const auto pack = [&](const Heads& from, typename Kind::Word* columns_TH,
                        typename Kind::Word* transposed_HT) HWY_ATTR {
    with_rows<Kind>(from, from.first(0, first, head), count, op.H, [&](auto rows) HWY_ATTR {
      typename Kind::Word* const rows_TH = x.kOnce ? columns_TH : x.rows_TH;
      pack_both<Kind>(rows, rows_TH, transposed_HT);
      if constexpr (!BackwardBlocks<Kind>::kOnce) pack_columns(copy_of<Kind>(rows, rows_TH), columns_TH);
      if constexpr (Kind::kTiles)
        std::fill(columns_TH + words<Kind>(count) * x.width, columns_TH + attention_block / Kind::kPerWord * x.width, 0u);
    });
  };
  pack(call.q, x.q_TH, x.q_HT);
  pack(call.result.dout, x.dout_TH, x.dout_HT);
  // Where nothing is seen, and beyond the last query, the weights are exp(score - inf) = 0.
  std::fill_n(x.lse, attention_block, std::numeric_limits<float>::infinity());
  std::fill_n(x.dot, attention_block, 0.0f);
  for (std::int64_t t = 0; t < count; ++t) {
    const float lse = call.result.lse[row + t];
    if (lse != -std::numeric_limits<float>::infinity()) x.lse[t] = lse;
    x.dot[t] = call.dot_nM[row + t];
  }
}

// Matrix units contract whole tiles of 32 queries.
template <class Kind>
HWY_INLINE std::int64_t padded_queries(std::int64_t count) {
  return Kind::kTiles ? padded(count, 32) : padded_rows(count);
}

// p and ds of one block of keys, which begins at row `row` of the chunk's copies.
template <class Kind>
void weigh_keys(const BackwardCall& call, Run queries, Run keys, std::int64_t row,
                const AttentionView& view, BackwardBlocks<Kind>& x) {
  const std::int64_t T = padded_queries<Kind>(queries.count), S = padded_rows(keys.count), width = x.width / Kind::kPerWord;
  const auto span_of = [&](std::int64_t s, std::int64_t t, std::int64_t vectors) {
    return Span{0, view.meets(s, t, vectors) ? words<Kind>(call.op.H) : 0};
  };
  multiply<Kind>(S, T, ByRow<Kind>{x.k_SH + row * width, width}, x.q_HT, attention_block,
                 {x.scores_ST, attention_block}, Store{}, span_of);
  multiply<Kind>(S, T, ByRow<Kind>{x.v_SH + row * width, width}, x.dout_HT, attention_block, {x.dp_ST, attention_block},
                 Store{}, span_of);
  if (!view.everything) fill_bounds(view, keys, x.bounds);
  weights_and_their_gradients<Kind>({x.scores_ST, keys.count, T, view.reach, view.everything ? nullptr : &x.bounds},
                                    static_cast<float>(call.op.scale), x.lse, x.dot, x.dp_ST, x.weighed);
}

template <class Kind>
void add_gradients(Run queries, Run keys, std::int64_t row, const AttentionView& view, BackwardBlocks<Kind>& x) {
  const std::int64_t T = padded_queries<Kind>(queries.count), S = padded_rows(keys.count), width = x.width;
  const auto queries_of = [&](std::int64_t s, std::int64_t, std::int64_t) {
    return Span{std::max<std::int64_t>(s - view.reach, 0) / Kind::kPerWord,
                words<Kind>(std::min(queries.count, s + most_tile_rows - view.first))};
  };
  const auto keys_of = [&](std::int64_t t, std::int64_t count) {
    return Span{std::max<std::int64_t>(t + view.first, 0) / Kind::kPerWord, words<Kind>(std::min(t + count + view.reach, keys.count))};
  };
  multiply<Kind>(S, width, ByRow<Kind>{x.weighed.p, attention_block}, x.dout_TH, width, {x.dv_SH + row * width, width},
                 Add{}, queries_of);
  multiply<Kind>(S, width, ByRow<Kind>{x.weighed.ds, attention_block}, x.q_TH, width, {x.dk_SH + row * width, width},
                 Add{}, queries_of);
  if constexpr (Kind::kTiles) {
    multiply<Kind>(width, T, ByRow<Kind>{x.k_columns_SH + row / Kind::kPerWord * width, attention_block / Kind::kPerWord},
                   x.weighed.ds_columns, attention_block, {x.dq_TH, attention_block}, Add{},
                   [&](std::int64_t, std::int64_t t, std::int64_t count) { return keys_of(t, count); });
  } else {
    multiply<Kind>(T, width, ByColumn<Kind>{x.weighed.ds_columns, attention_block}, x.k_columns_SH + row / Kind::kPerWord * width, width,
                   {x.dq_TH, width}, Add{}, [&](std::int64_t t, std::int64_t, std::int64_t) { return keys_of(t, kTileRows); });
  }
}

void put_rows(const float* dense, double scale, Onto onto, HeadRows<float> y) {
  const auto factor = static_cast<float>(scale);
  if (onto == Onto::earlier) return add_rows(dense, factor, y);
  write_rows(
      dense, [=](std::int64_t) { return factor; }, y);
}

template <class Kind>
void add_query_block(const BackwardCall& call, const BackwardTask& task, std::int64_t head, Run queries,
                     BackwardBlocks<Kind>& x) {
  const Attention& op = call.op;
  const bool sees = view_of(op, task.part, queries, task.keys).anything;
  if (!sees && task.dq == Onto::earlier) return;
  const std::int64_t first = task.part.q_begin + queries.begin;
  if (task.dq == Onto::nothing) dot_rows(call, first, head, queries.count, call.dot_nM + head * op.M + first);
  if (sees) pack_queries(call, task.part, head, queries, x);
  const MutableHeads dq = call.dq;
  prefetch_rows(dq, dq.first(0, first, head), queries.count, op.H);
  std::fill_n(x.dq_TH, attention_block * x.width, 0.0f);
  for (std::int64_t row = 0; sees && row < task.keys.count; row += attention_block) {
    const Run keys{task.keys.begin + row, std::min(attention_block, task.keys.count - row)};
    const AttentionView view = view_of(op, task.part, queries, keys);
    if (!view.anything) continue;
    weigh_keys(call, queries, keys, row, view, x);
    add_gradients(queries, keys, row, view, x);
  }
  const float* dq_TH = x.dq_TH;
#if TROIKA_CPU_HALF_PAIRS
  if constexpr (Kind::kTiles) {
    turn_back(x.dq_TH, op.H, x.turned_TH);
    dq_TH = x.turned_TH;
  }
#endif
  put_rows(dq_TH, op.scale, task.dq,
           {call.dq.at(0, first, head), call.dq.row_stride, queries.count, op.H});
}

template <class Kind>
void backward_task_in(const BackwardCall& call, const BackwardTask& task) {
  const auto& [part, kv, queries, keys, dq, dkv] = task;
  const std::int64_t first_key = part.k_begin + keys.begin;
  const std::int64_t H = call.op.H;
  if (!view_of(call.op, part, queries, keys).anything && dq == Onto::earlier && dkv == Onto::earlier) return;
  BackwardBlocks<Kind> x(H, padded(keys.count, attention_block));
  with_rows<Kind>(call.k, call.k.first(0, first_key, kv), keys.count, H, [&](auto rows) HWY_ATTR {
    pack_rows(rows, x.k_SH);
    if constexpr (Kind::kTiles) {
      for (std::int64_t s = 0; s < rows.count; s += attention_block) {
        pack_turned({rows.data + s * rows.stride, rows.stride, std::min(attention_block, rows.count - s), H}, x.rows_TH,
                    x.k_columns_SH + s / Kind::kPerWord * x.width);
      }
    } else if constexpr (!BackwardBlocks<Kind>::kOnce) {
      pack_columns(rows, x.k_columns_SH);
    }
  });
  with_rows<Kind>(call.v, call.v.first(0, first_key, kv), keys.count, H,
                  [&](auto rows) HWY_ATTR { pack_rows(rows, x.v_SH); });
  std::fill_n(x.dk_SH, padded_rows(keys.count) * x.width, 0.0f);
  std::fill_n(x.dv_SH, padded_rows(keys.count) * x.width, 0.0f);
  for (const std::int64_t head : call.readers_of_kv[static_cast<std::size_t>(kv)])
    for (std::int64_t t = 0; t < queries.count; t += attention_block)
      add_query_block(call, task, head, {queries.begin + t, std::min(attention_block, queries.count - t)}, x);
  put_rows(x.dk_SH, call.op.scale, dkv, {call.dk.at(0, first_key, kv), call.dk.row_stride, keys.count, H});
  put_rows(x.dv_SH, 1, dkv, {call.dv.at(0, first_key, kv), call.dv.row_stride, keys.count, H});
}

// The contributions of these queries and these keys to dq, dk and dv.
void backward_task_of_target(const BackwardCall& call, const BackwardTask& task) {
#if TROIKA_CPU_HALF_PAIRS
  if (call.operands == Operands::tiles) {
    const TileUnits units;
    return backward_task_in<HalfTiles>(call, task);
  }
  if (call.operands == Operands::halves) return backward_task_in<HalfPairs>(call, task);
#endif
  backward_task_in<Floats>(call, task);
}

}  // namespace
}  // namespace troika::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {
HWY_EXPORT(backward_task_of_target);

namespace {

std::int64_t chunks(std::int64_t count) { return (count + attention_chunk - 1) / attention_chunk; }

void clear(const Attention& op, const MutableFloatHeads& x, std::int64_t heads, Run rows) {
  for (std::int64_t i = rows.begin; i < rows.begin + rows.count; ++i)
    for (std::int64_t head = 0; head < heads; ++head) std::fill_n(x.at(0, i, head), op.H, 0.0f);
}

// Key chunk j meets query chunk j + shift. These are the shifts at which some query is not before all the keys, and in a window not
// behind all that it sees.
Run visible_shifts(const Attention& op, const AttentionPart& part) {
  std::int64_t begin = part.S == 0 ? chunks(part.T) : 1 - chunks(part.S), end = chunks(part.T);
  while (begin < end && (begin + 1) * attention_chunk - 1 + part.reach < 0) ++begin;
  while (op.window > 0 && begin < end && (end - 1) * attention_chunk + part.reach - op.window >= attention_chunk - 1) --end;
  return {begin, end - begin};
}

// Clears the rows that no task reaches: those of no part, queries before or behind all keys, keys after or before all that is seen.
void clear_unseen(const BackwardCall& call) {
  const Attention& op = call.op;
  const auto clear_keys = [&](Run rows) {
    clear(op, call.dk, op.k, rows);
    clear(op, call.dv, op.k, rows);
  };
  for (const Run& rows : rows_in_no_part(op, Side::queries)) clear(op, call.dq, op.n, rows);
  for (const Run& rows : rows_in_no_part(op, Side::keys)) clear_keys(rows);
  for (const AttentionPart& part : op.parts) {
    const Run shifts = visible_shifts(op, part);
    const auto rows_of = [](std::int64_t chunk, std::int64_t rows) { return std::clamp<std::int64_t>(chunk * attention_chunk, 0, rows); };
    const std::int64_t first_query = rows_of(shifts.begin, part.T), end_query = rows_of(chunks(part.S) + shifts.begin + shifts.count - 1, part.T);
    clear(op, call.dq, op.n, {part.q_begin, first_query});
    clear(op, call.dq, op.n, {part.q_begin + end_query, part.T - end_query});
    const std::int64_t first_key = rows_of(1 - shifts.begin - shifts.count, part.S), end_key = rows_of(chunks(part.T) - shifts.begin, part.S);
    clear_keys({part.k_begin, first_key});
    clear_keys({part.k_begin + end_key, part.S - end_key});
  }
}

// The tasks of a part's `round`-th shift, of which no two add to the same gradients.
void add_diagonal(const BackwardCall& call, const AttentionPart& part, std::int64_t round, std::vector<BackwardTask>* tasks) {
  const Run shifts = visible_shifts(call.op, part);
  if (round >= shifts.count) return;
  const std::int64_t shift = shifts.begin + round, end = std::min(chunks(part.S), chunks(part.T) - shift);
  for (std::int64_t kv = 0; kv < call.op.k; ++kv) {
    for (std::int64_t j = std::max<std::int64_t>(0, -shift); j < end; ++j) {
      const std::int64_t i = j + shift;
      const bool reaches_queries = j == std::min(chunks(part.S) - 1, i - shifts.begin);
      const bool reaches_keys = i == std::max<std::int64_t>(0, j + shifts.begin);
      tasks->push_back({part, kv, run_of(i, attention_chunk, part.T), run_of(j, attention_chunk, part.S),
                        reaches_queries ? Onto::nothing : Onto::earlier, reaches_keys ? Onto::nothing : Onto::earlier});
    }
  }
}

}  // namespace

void attention_backward(const Attention& op, const Heads& q, const Heads& k, const Heads& v,
                        const AttentionResult& result, const MutableFloatHeads& dq, const MutableFloatHeads& dk,
                        const MutableFloatHeads& dv) {
  std::vector<float> dot_nM(static_cast<std::size_t>(op.n * op.M));
  const BackwardCall call{op, q, k, v, result, dq, dk, dv, readers_of_kv(op),
                          operands_of(op, {q.dtype, k.dtype, v.dtype, result.dout.dtype}), dot_nM.data()};
  clear_unseen(call);
  std::vector<BackwardTask> tasks;
  for (std::int64_t round = 0; round == 0 || !tasks.empty(); ++round) {
    tasks.clear();
    for (const AttentionPart& part : op.parts) add_diagonal(call, part, round, &tasks);
    parallel_for(static_cast<std::int64_t>(tasks.size()), [&](std::int64_t i) {
      HWY_DYNAMIC_DISPATCH(backward_task_of_target)(call, tasks[static_cast<std::size_t>(i)]);
    });
  }
}

}  // namespace troika::cpu
#endif
