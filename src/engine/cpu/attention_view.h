// The part of a block of keys that a block of queries sees, and the sizes of blocks.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "cpu/attention.h"

namespace troika::cpu {

constexpr std::int64_t attention_block = 64;  // queries or keys multiplied at once
constexpr std::int64_t most_tile_rows = 32;   // of a product's tile, of any kind of operands

struct Run {
  std::int64_t begin = 0, count = 0;
};
// The i-th block of `size` out of `total`.
Run run_of(std::int64_t i, std::int64_t size, std::int64_t total);

// The rows of queries, or of keys, that no part has; ascending.
enum class Side { queries, keys };
std::vector<Run> rows_in_no_part(const Attention& op, Side side);

// The query heads that read each of op.k key/value heads, ascending.
std::vector<std::vector<std::int64_t>> readers_of_kv(const Attention& op);

// The operands of the products: halves where all that is multiplied is halves, in pairs, and the CPU has the units; tiles where those
// are matrix units, and heads are whole tiles of 32 halves wide.
enum class Operands { floats, halves, tiles };
Operands operands_of(const Attention& op, std::initializer_list<Dtype> multiplied);

struct AttentionView {
  std::int64_t reach = 0;  // query t of the block sees key s of the block only if s <= t + reach
  std::int64_t first = 0;  // and only if s >= t + first
  bool anything = false;   // some query may see some key
  bool everything = false;
  // Whether one of `count` queries from t on may see one of the keys of a product's tile, which begins at s.
  bool meets(std::int64_t s, std::int64_t t, std::int64_t count) const {
    return s < t + count + reach && s + most_tile_rows > t + first;
  }
};
// Runs count from the first query and the first key of the part.
AttentionView view_of(const Attention& op, const AttentionPart& part, Run queries, Run keys);

// Query t of the block sees the keys first[t] <= s <= last[t].
struct AttentionBounds {
  alignas(64) float first[attention_block], last[attention_block];
};
void fill_bounds(const AttentionView& view, Run keys, AttentionBounds& bounds);

}  // namespace troika::cpu
