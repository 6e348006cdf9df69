#include <algorithm>

#include "cpu/attention.h"
#include "cpu/attention_backward_task.h"
#include "cpu/parallel.h"

namespace troika::cpu {
namespace {

std::int64_t chunks(std::int64_t count) { return (count + attention_chunk - 1) / attention_chunk; }

void clear(const Attention& op, const MutableFloatHeads& x, std::int64_t heads, std::int64_t begin_row,
           std::int64_t end_row) {
  for (std::int64_t b = 0; b < op.B; ++b)
    for (std::int64_t i = begin_row; i < end_row; ++i)
      for (std::int64_t head = 0; head < heads; ++head) std::fill_n(x.at(b, i, head), op.H, 0.0f);
}

// Key chunk j meets query chunk j + shift. These are the shifts at which some query is not before all the keys.
Run visible_shifts(const Attention& op) {
  std::int64_t shift = op.S == 0 ? chunks(op.T) : 1 - chunks(op.S);
  while (shift < chunks(op.T) && (shift + 1) * attention_chunk - 1 + op.q_offset < op.k_offset) ++shift;
  return {shift, chunks(op.T) - shift};
}

// What no task reaches: queries before all keys, keys after all queries.
void clear_unseen(const BackwardCall& call, std::int64_t first_shift) {
  const Attention& op = call.op;
  clear(op, call.dq, op.n, 0, std::min(op.T, first_shift * attention_chunk));
  const std::int64_t seen_keys = (chunks(op.T) - first_shift) * attention_chunk;
  clear(op, call.dk, op.k, seen_keys, op.S);
  clear(op, call.dv, op.k, seen_keys, op.S);
}

// All tasks of one shift; no two of them add to the same gradients.
void add_diagonal(const BackwardCall& call, std::int64_t shift, std::int64_t first_shift) {
  const Attention& op = call.op;
  const std::int64_t first = std::max<std::int64_t>(0, -shift);
  const std::int64_t count = std::min(chunks(op.S), chunks(op.T) - shift) - first;
  parallel_for(std::max<std::int64_t>(0, count) * op.B * op.k, [&](std::int64_t task) {
    const std::int64_t j = first + task % count, i = j + shift;
    const bool reaches_queries = j == std::min(chunks(op.S) - 1, i - first_shift);
    const bool reaches_keys = i == std::max<std::int64_t>(0, j + first_shift);
    backward_task(call, {task / count / op.k, task / count % op.k, run_of(i, attention_chunk, op.T),
                         run_of(j, attention_chunk, op.S), reaches_queries ? Onto::nothing : Onto::earlier,
                         reaches_keys ? Onto::nothing : Onto::earlier});
  });
}

}  // namespace

void attention_backward(const Attention& op, const Heads& q, const Heads& k, const Heads& v,
                        const AttentionResult& result, const MutableFloatHeads& dq, const MutableFloatHeads& dk,
                        const MutableFloatHeads& dv) {
  BackwardCall call{op,
                    q,
                    k,
                    v,
                    result,
                    dq,
                    dk,
                    dv,
                    readers_of_kv(op),
                    operands_of(op, {q.dtype, k.dtype, v.dtype, result.dout.dtype}),
                    {}};
  const std::int64_t rows = op.B * op.n * op.T;
  call.dot_BnT.resize(static_cast<std::size_t>(rows));
  parallel_pieces(rows, 1024,
                  [&](std::int64_t begin, std::int64_t end) { dot_rows(call, begin, end, call.dot_BnT.data()); });
  const Run shifts = visible_shifts(op);
  clear_unseen(call, shifts.begin);
  for (std::int64_t i = 0; i < shifts.count; ++i) add_diagonal(call, shifts.begin + i, shifts.begin);
}

}  // namespace troika::cpu
