#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/attention_forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/exact_math.h"
#include "cpu/attention.h"
#include "cpu/attention_packing-inl.h"
#include "cpu/attention_products-inl.h"
#include "cpu/attention_softmax-inl.h"
#include "cpu/attention_tiles-inl.h"
#include "cpu/attention_view.h"
#include "cpu/parallel.h"

#ifndef TROIKA_CPU_ATTENTION_FORWARD_ONCE
#define TROIKA_CPU_ATTENTION_FORWARD_ONCE
namespace troika::cpu {

struct ForwardCall {
  Attention op;
  Heads q, k, v;
  MutableHeads out;
  float* lse;
  std::vector<std::vector<std::int64_t>> readers_of_kv;
  Operands operands;
};
// Units [begin, end) of one key/value head in a part; a unit is one of its readers and one block of queries, the last block
// first.
struct ForwardTask {
  AttentionPart part;
  std::int64_t kv, begin, end;
};
constexpr std::int64_t most_units = 4;

}  // namespace troika::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace troika::cpu::HWY_NAMESPACE {
namespace {

template <class Kind>
struct ForwardUnit {
  std::int64_t head;
  Run queries;
  typename Kind::Word* q_HT;
  float* sum_TH;  // of tiles: [H][attention_block]
  Running running;
};

template <class Kind>
struct ForwardBlocks {
  using Word = typename Kind::Word;
  explicit ForwardBlocks(std::int64_t H)
      : width(dense_width(H)),
        memory(attention_block * (most_units * (H + width) + 2 * width + attention_block)),
        k_SH(memory.take<Word>(attention_block * width / Kind::kPerWord)),
        v_SH(memory.take<Word>(attention_block * width / Kind::kPerWord)),
        scores_ST(memory.take(attention_block * attention_block)),
        p_ST(reinterpret_cast<Word*>(scores_ST)) {
    if constexpr (Kind::kTiles) {
      v_HS = memory.take<Word>(attention_block * width / Kind::kPerWord);
      turned_TH = memory.take(attention_block * width);
    }
    for (ForwardUnit<Kind>& unit : units) {
      unit.q_HT = memory.take<Word>(attention_block * words<Kind>(H));
      unit.sum_TH = memory.take(attention_block * width);
    }
  }
  std::int64_t width;
  Scratch memory;
  Word *k_SH, *v_SH;  // words along h, along s
  Word* v_HS = nullptr;  // of tiles: words along s
  float* turned_TH = nullptr;
  float* scores_ST;
  Word* p_ST;
  ForwardUnit<Kind> units[most_units];
  AttentionBounds bounds;
};

template <class Kind>
void begin_unit(const ForwardCall& call, const ForwardTask& task, std::int64_t i, ForwardUnit<Kind>& unit) {
  const Attention& op = call.op;
  const auto& readers = call.readers_of_kv[static_cast<std::size_t>(task.kv)];
  const auto count = static_cast<std::int64_t>(readers.size());
  unit.head = readers[static_cast<std::size_t>(i % count)];
  unit.queries = run_of((task.part.T - 1) / attention_block - i / count, attention_block, task.part.T);
  auto* rows_TH = reinterpret_cast<typename Kind::Word*>(unit.sum_TH);  // until the sums begin
  with_rows<Kind>(call.q, call.q.first(0, task.part.q_begin + unit.queries.begin, unit.head), unit.queries.count, op.H,
                  [&](auto q) HWY_ATTR { pack_both<Kind>(q, rows_TH, unit.q_HT); });
  std::fill_n(unit.sum_TH, attention_block * dense_width(op.H), 0.0f);
  begin(unit.running);
}

// x[h][t] *= factor[t], rows of attention_block.
HWY_INLINE void scale_columns(const float* factor, std::int64_t H, std::int64_t T, float* x) {
  const hn::ScalableTag<float> d;
  for (std::int64_t t = 0; t < T; t += vector_lanes()) {
    const auto by = hn::Load(d, factor + t);
    for (float* at = x + t; at < x + H * attention_block; at += attention_block) hn::Store(hn::Mul(hn::Load(d, at), by), d, at);
  }
}

// The block's values, weighed. Of tiles the sum is turned: they have A by rows, and the weights' words run along the keys.
template <class Kind>
void add_values(std::int64_t H, Run keys, const AttentionView& view, ForwardBlocks<Kind>& x, ForwardUnit<Kind>& unit) {
  const std::int64_t T = padded_rows(unit.queries.count);
  const auto keys_of = [&](std::int64_t t, std::int64_t count) {
    return Span{std::max<std::int64_t>(t + view.first, 0) / Kind::kPerWord, words<Kind>(std::min(t + count + view.reach, keys.count))};
  };
  if constexpr (Kind::kTiles) {
    scale_columns(unit.running.factor, H, T, unit.sum_TH);
    multiply<Kind>(H, T, ByRow<Kind>{x.v_HS, attention_block / Kind::kPerWord}, x.p_ST, attention_block, {unit.sum_TH, attention_block},
                   Add{}, [&](std::int64_t, std::int64_t t, std::int64_t width) { return keys_of(t, width); });
  } else {
    multiply<Kind>(T, x.width, ByColumn<Kind>{x.p_ST, attention_block}, x.v_SH, x.width, {unit.sum_TH, x.width},
                   ScaleAndAdd{unit.running.factor},
                   [&](std::int64_t t, std::int64_t, std::int64_t) { return keys_of(t, kTileRows); });
  }
}

template <class Kind>
void add_keys(const Attention& op, Run keys, const AttentionView& view, ForwardBlocks<Kind>& x,
              ForwardUnit<Kind>& unit) {
  const std::int64_t T = padded_rows(unit.queries.count);
  multiply<Kind>(padded_rows(keys.count), T, ByRow<Kind>{x.k_SH, x.width / Kind::kPerWord}, unit.q_HT, attention_block,
                 {x.scores_ST, attention_block}, Store{}, [&](std::int64_t s, std::int64_t t, std::int64_t width) {
                   return Span{0, view.meets(s, t, width) ? words<Kind>(op.H) : 0};
                 });
  if (!view.everything) fill_bounds(view, keys, x.bounds);
  online_softmax<Kind>({x.scores_ST, keys.count, T, view.reach, view.everything ? nullptr : &x.bounds},
                       static_cast<float>(op.scale), unit.running, x.p_ST);
  add_values<Kind>(op.H, keys, view, x, unit);
}

template <class Kind>
void write_unit(const ForwardCall& call, const AttentionPart& part, ForwardBlocks<Kind>& x, ForwardUnit<Kind>& unit) {
  const float* sum_TH = unit.sum_TH;
  if constexpr (Kind::kTiles) {
    turn_back(unit.sum_TH, call.op.H, x.turned_TH);
    sum_TH = x.turned_TH;
  }
  const Running& running = unit.running;
  const std::int64_t first = part.q_begin + unit.queries.begin;
  float* lse = call.lse + unit.head * call.op.M + first;
  float inverse[attention_block];
  for (std::int64_t t = 0; t < unit.queries.count; ++t) {
    inverse[t] = running.sum[t] == 0 ? 0.0f : 1 / running.sum[t];
    lse[t] = (running.highest[t] + base::log2(running.sum[t])) / log2_of_e;
  }
  const auto inverse_of = [&](std::int64_t t) { return inverse[t]; };
  with_rows<Floats>(call.out, call.out.first(0, first, unit.head), unit.queries.count, call.op.H,
                    [&](auto out) HWY_ATTR { write_rows(sum_TH, inverse_of, out); });
}

// How many keys of a part these queries see.
std::int64_t seen_keys(const AttentionPart& part, const Run& queries) {
  return std::clamp<std::int64_t>(queries.begin + queries.count + part.reach, 0, part.S);
}

template <class Kind>
void forward_task_in(const ForwardCall& call, const ForwardTask& task) {
  const Attention& op = call.op;
  const std::int64_t count = task.end - task.begin;
  ForwardBlocks<Kind> x(op.H);
  for (std::int64_t i = 0; i < count; ++i) begin_unit(call, task, task.begin + i, x.units[i]);
  for (std::int64_t s = 0; s < task.part.S; s += attention_block) {
    const Run keys{s, std::min(attention_block, task.part.S - s)};
    bool packed = false;
    for (std::int64_t i = 0; i < count; ++i) {
      const AttentionView view = view_of(op, task.part, x.units[i].queries, keys);
      if (!view.anything) continue;
      if (!packed) {
        with_rows<Kind>(call.k, call.k.first(0, task.part.k_begin + s, task.kv), keys.count, op.H,
                        [&](auto k) HWY_ATTR { pack_rows(k, x.k_SH); });
        with_rows<Kind>(call.v, call.v.first(0, task.part.k_begin + s, task.kv), keys.count, op.H,
                        [&](auto v) HWY_ATTR {
                          if constexpr (Kind::kTiles) {
                            pack_turned(v, x.v_SH, x.v_HS);
                          } else {
                            pack_columns(v, x.v_SH);
                          }
                        });
        packed = true;
      }
      const Run& queries = x.units[i].queries;
      if (s + attention_block >= seen_keys(task.part, queries))
        prefetch_rows(call.out, call.out.first(0, task.part.q_begin + queries.begin, x.units[i].head), queries.count, op.H);
      add_keys(op, keys, view, x, x.units[i]);
    }
  }
  for (std::int64_t i = 0; i < count; ++i) write_unit(call, task.part, x, x.units[i]);
}

void forward_task(const ForwardCall& call, const ForwardTask& task) {
#if TROIKA_CPU_HALF_PAIRS
  if (call.operands == Operands::tiles) {
    const TileUnits units;
    return forward_task_in<HalfTiles>(call, task);
  }
  if (call.operands == Operands::halves) return forward_task_in<HalfPairs>(call, task);
#endif
  forward_task_in<Floats>(call, task);
}

}  // namespace
}  // namespace troika::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {
namespace {
HWY_EXPORT(forward_task);

// Units of a task share the copies of keys and values; fewer of them keep several cores busy.
std::vector<ForwardTask> tasks_of(const ForwardCall& call) {
  constexpr std::int64_t enough_tasks = 32;
  const Attention& op = call.op;
  const auto blocks_of = [](const AttentionPart& part) { return (part.T + attention_block - 1) / attention_block; };
  std::int64_t blocks = 0;
  for (const AttentionPart& part : op.parts) blocks += blocks_of(part);
  const std::int64_t units = std::clamp<std::int64_t>(op.n * blocks / enough_tasks, 1, most_units);
  std::vector<ForwardTask> tasks;
  for (const AttentionPart& part : op.parts) {
    for (std::int64_t kv = 0; kv < op.k; ++kv) {
      const auto count = blocks_of(part) * static_cast<std::int64_t>(call.readers_of_kv[static_cast<std::size_t>(kv)].size());
      for (std::int64_t i = 0; i < count; i += units) tasks.push_back({part, kv, i, std::min(i + units, count)});
    }
  }
  return tasks;
}

}  // namespace

void attention_forward(const Attention& op, const Heads& q, const Heads& k, const Heads& v, const MutableHeads& out,
                       float* lse) {
  const ForwardCall call{op, q, k, v, out, lse, readers_of_kv(op), operands_of(op, {q.dtype, k.dtype, v.dtype})};
  for (const Run& rows : rows_in_no_part(op, Side::queries)) {
    for (std::int64_t head = 0; head < op.n; ++head) {
      std::fill_n(lse + head * op.M + rows.begin, rows.count, -std::numeric_limits<float>::infinity());
      for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row)
        std::memset(at(out.data, out.first(0, row, head), out.dtype), 0, static_cast<std::size_t>(op.H * base::bytes_of(out.dtype)));
    }
  }
  const std::vector<ForwardTask> tasks = tasks_of(call);
  parallel_for(static_cast<std::int64_t>(tasks.size()), [&](std::int64_t i) {
    HWY_DYNAMIC_DISPATCH(forward_task)(call, tasks[static_cast<std::size_t>(i)]);
  });
}

}  // namespace troika::cpu
#endif
