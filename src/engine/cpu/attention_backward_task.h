// The parts that attention_backward is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/attention.h"
#include "cpu/attention_view.h"

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
  std::vector<float> dot_BnT;  // sum over h of dout * out
};
// The first task that may reach some queries, or some keys, writes their gradients; later ones add.
enum class Onto { nothing, earlier };
struct BackwardTask {
  std::int64_t b, kv;
  Run queries, keys;
  Onto dq, dkv;
};

// Sums over h of dout * out for rows [begin, end) of B x n x T.
void dot_rows(const BackwardCall& call, std::int64_t begin, std::int64_t end, float* dot_BnT);

// What these queries and these keys give to dq, dk and dv.
void backward_task(const BackwardCall& call, const BackwardTask& task);

}  // namespace troika::cpu
