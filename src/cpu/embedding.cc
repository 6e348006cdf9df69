#include "cpu/embedding.h"

#include <algorithm>
#include <vector>

#include "cpu/parallel.h"
#include "cpu/stream_zeros.h"

namespace troika::cpu {
namespace {

constexpr std::int64_t piece_elements = 1 << 16;
constexpr std::int64_t cached_elements = 1 << 20;  // a table of so many may stay in a cache until it is read

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Rows of the batch whose id lies in the table, sorted by the table's blocks of `block` rows and in ascending order
// within each: block b's are order[begin[b]] ... order[begin[b + 1] - 1].
struct RowsByBlock {
  std::vector<std::int64_t> begin, order;
};

RowsByBlock rows_by_block(const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids, std::int64_t block) {
  const auto inside = [&](std::int64_t m) { return ids[m] >= table.first_row && ids[m] < table.first_row + table.v; };
  const auto block_of = [&](std::int64_t m) { return static_cast<std::size_t>((ids[m] - table.first_row) / block); };
  RowsByBlock rows;
  rows.begin.resize(static_cast<std::size_t>(divide_up(table.v, block)) + 1);
  for (std::int64_t m = 0; m < M; ++m) {
    if (inside(m)) ++rows.begin[block_of(m) + 1];
  }
  for (std::size_t b = 1; b < rows.begin.size(); ++b) rows.begin[b] += rows.begin[b - 1];
  rows.order.resize(static_cast<std::size_t>(rows.begin.back()));
  std::vector<std::int64_t> next(rows.begin.begin(), rows.begin.end() - 1);
  for (std::int64_t m = 0; m < M; ++m) {
    if (inside(m)) rows.order[static_cast<std::size_t>(next[block_of(m)]++)] = m;
  }
  return rows;
}

void zeros(std::int64_t count, float* out) { std::fill_n(out, count, 0.0f); }

}  // namespace

void embedding_forward(const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids, const float* weights,
                       float* x) {
  const std::int64_t D = table.D;
  parallel_pieces(M, divide_up(piece_elements, D), [&, D](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      const std::int64_t row = ids[m] - table.first_row;
      if (row >= 0 && row < table.v) {
        std::copy_n(weights + row * D, D, x + m * D);
      } else {
        std::fill_n(x + m * D, D, 0.0f);
      }
    }
  });
}

void embedding_backward(const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids, const float* dx,
                        float* dtable) {
  constexpr std::int64_t most_blocks = 256;
  const std::int64_t D = table.D, block = std::max(divide_up(piece_elements, D), divide_up(table.v, most_blocks));
  const auto zero = table.v * D < cached_elements ? zeros : stream_zeros;
  const RowsByBlock rows = rows_by_block(table, M, ids, block);
  parallel_for(divide_up(table.v, block), [&, D, block](std::int64_t b) {
    zero(std::min(block, table.v - b * block) * D, dtable + b * block * D);
    for (std::int64_t i = rows.begin[b]; i < rows.begin[b + 1]; ++i) {
      const float* from = dx + rows.order[i] * D;
      float* to = dtable + (ids[rows.order[i]] - table.first_row) * D;
      for (std::int64_t j = 0; j < D; ++j) to[j] += from[j];
    }
  });
}

}  // namespace troika::cpu
