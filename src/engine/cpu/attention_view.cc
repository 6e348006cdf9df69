#include "cpu/attention_view.h"

#include <algorithm>
#include <limits>

#include "cpu/gemm.h"
#include "cpu/tile_units.h"

namespace troika::cpu {

Run run_of(std::int64_t i, std::int64_t size, std::int64_t total) {
  return {i * size, std::min(size, total - i * size)};
}

std::vector<Run> rows_in_no_part(const Attention& op, Side side) {
  std::vector<Run> parts;
  for (const AttentionPart& part : op.parts)
    parts.push_back(side == Side::queries ? Run{part.q_begin, part.T} : Run{part.k_begin, part.S});
  std::sort(parts.begin(), parts.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  const std::int64_t rows = side == Side::queries ? op.M : op.N;
  parts.push_back({rows, 0});
  std::vector<Run> missing;
  std::int64_t end = 0;
  for (const Run& part : parts) {
    if (part.begin > end) missing.push_back({end, part.begin - end});
    end = std::max(end, part.begin + part.count);
  }
  return missing;
}

std::vector<std::vector<std::int64_t>> readers_of_kv(const Attention& op) {
  std::vector<std::vector<std::int64_t>> readers(static_cast<std::size_t>(op.k));
  for (std::int64_t head = 0; head < op.n; ++head)
    readers[static_cast<std::size_t>(op.kv_of_head[head])].push_back(head);
  return readers;
}

Operands operands_of(const Attention& op, std::initializer_list<Dtype> multiplied) {
  const bool halves = std::all_of(multiplied.begin(), multiplied.end(), [](Dtype x) { return x == Dtype::bf16; });
  if (!halves || op.H % 2 != 0 || !multiplies_halves()) return Operands::floats;
  return op.H % 32 == 0 && has_tile_units() ? Operands::tiles : Operands::halves;
}

AttentionView view_of(const Attention& op, const AttentionPart& part, Run queries, Run keys) {
  AttentionView view;
  view.reach = part.reach + queries.begin - keys.begin;
  view.first = op.window > 0 ? view.reach - op.window + 1 : std::numeric_limits<std::int64_t>::min() / 2;
  view.anything = view.reach + queries.count > 0 && view.first < keys.count;
  view.everything = view.reach >= keys.count - 1 && view.first + queries.count <= 1;
  return view;
}

void fill_bounds(const AttentionView& view, Run keys, AttentionBounds& bounds) {
  for (std::int64_t t = 0; t < attention_block; ++t) {
    bounds.first[t] = static_cast<float>(std::clamp<std::int64_t>(t + view.first, 0, keys.count));
    bounds.last[t] = static_cast<float>(std::clamp<std::int64_t>(t + view.reach, -1, keys.count));
  }
}

}  // namespace troika::cpu
