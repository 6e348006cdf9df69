#include "cpu/rows.h"

#include <algorithm>
#include <utility>

#include "cpu/parallel.h"

namespace troika::cpu {
namespace {

constexpr std::int64_t piece_elements = 1 << 16;
std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

void embedding_forward(const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids, const void* weights,
                       void* x) {
  const std::int64_t row_bytes = table.D * base::bytes_of(table.dtype);
  parallel_pieces(M, divide_up(piece_elements, table.D), [&, row_bytes](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      const std::int64_t row = ids[m] - table.first_row;
      if (row >= 0 && row < table.v) {
        std::copy_n(static_cast<const char*>(weights) + row * row_bytes, row_bytes,
                    static_cast<char*>(x) + m * row_bytes);
      } else {
        std::fill_n(static_cast<char*>(x) + m * row_bytes, row_bytes, '\0');
      }
    }
  });
}

NamedRows named_rows(const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;  // row, place
  for (std::int64_t m = 0; m < M; ++m) {
    const std::int64_t row = ids[m] - table.first_row;
    if (row >= 0 && row < table.v) pairs.emplace_back(row, m);
  }
  std::sort(pairs.begin(), pairs.end());
  NamedRows rows;
  for (const auto& [row, m] : pairs) {
    if (rows.row.empty() || rows.row.back() != row) {
      rows.row.push_back(row);
      rows.begin.push_back(rows.begin.back());
    }
    rows.order.push_back(m);
    ++rows.begin.back();
  }
  return rows;
}

template <class Element>
static void add_named_rows(const NamedRows& rows, std::int64_t D, const Element* dx, float* gradient) {
  parallel_pieces(static_cast<std::int64_t>(rows.row.size()), divide_up(piece_elements, D),
                  [&, D](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) {
                      float* to = gradient + i * D;
                      std::fill_n(to, D, 0.0f);
                      const auto row = static_cast<std::size_t>(i);
                      for (std::int64_t o = rows.begin[row]; o < rows.begin[row + 1]; ++o) {
                        const Element* from = dx + rows.order[static_cast<std::size_t>(o)] * D;
                        for (std::int64_t j = 0; j < D; ++j) to[j] += to_float(from[j]);
                      }
                    }
                  });
}

void embedding_backward(const NamedRows& rows, const EmbeddingTable& table, const void* dx, float* gradient) {
  if (table.dtype == Dtype::bf16) return add_named_rows(rows, table.D, static_cast<const Bf16*>(dx), gradient);
  add_named_rows(rows, table.D, static_cast<const float*>(dx), gradient);
}

}  // namespace troika::cpu
