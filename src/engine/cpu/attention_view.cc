#include "cpu/attention_view.h"

#include <algorithm>

#include "cpu/gemm.h"

namespace troika::cpu {

Run run_of(std::int64_t i, std::int64_t size, std::int64_t total) {
  return {i * size, std::min(size, total - i * size)};
}

std::vector<std::vector<std::int64_t>> readers_of_kv(const Attention& op) {
  std::vector<std::vector<std::int64_t>> readers(static_cast<std::size_t>(op.k));
  for (std::int64_t head = 0; head < op.n; ++head)
    readers[static_cast<std::size_t>(op.kv_of_head[head])].push_back(head);
  return readers;
}

Operands operands_of(const Attention& op, std::initializer_list<Dtype> multiplied) {
  const bool halves = std::all_of(multiplied.begin(), multiplied.end(), [](Dtype x) { return x == Dtype::bf16; });
  return halves && op.H % 2 == 0 && multiplies_halves() ? Operands::halves : Operands::floats;
}

AttentionView view_of(const Attention& op, std::int64_t b, Run queries, Run keys) {
  const std::int64_t key = op.k_offset + keys.begin;
  AttentionView view;
  view.reach = op.q_offset + queries.begin - key;
  view.anything = view.reach + queries.count > 0;
  view.everything = view.reach >= keys.count - 1;
  if (op.first_key != nullptr && view.anything) {
    const std::int64_t* first = op.first_key + b * op.T + queries.begin;
    const auto [lowest, highest] = std::minmax_element(first, first + queries.count);
    view.anything = *lowest < key + keys.count;
    view.everything = view.everything && *highest <= key;
  }
  return view;
}

void fill_bounds(const Attention& op, std::int64_t b, Run queries, Run keys, AttentionBounds& bounds) {
  const std::int64_t key = op.k_offset + keys.begin, reach = op.q_offset + queries.begin - key;
  for (std::int64_t t = 0; t < attention_block; ++t) {
    bounds.first[t] = 0;
    bounds.last[t] = static_cast<float>(std::clamp<std::int64_t>(t + reach, -1, keys.count));
  }
  if (op.first_key == nullptr) return;
  const std::int64_t* first = op.first_key + b * op.T + queries.begin;
  for (std::int64_t t = 0; t < queries.count; ++t)
    bounds.first[t] = static_cast<float>(std::clamp<std::int64_t>(first[t] - key, 0, keys.count));
}

}  // namespace troika::cpu
