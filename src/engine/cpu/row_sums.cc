
#include <algorithm>

#include "cpu/parallel.h"

namespace troika::cpu {

// About 20 us of work; the upper limit keeps the rounding of one partial sum small.
std::int64_t rows_per_block(std::int64_t row_elements) {
  return std::clamp<std::int64_t>(16384 / std::max<std::int64_t>(row_elements, 1), 1, 512);
}

namespace {

constexpr std::int64_t least_rows = 32;  // so all partial sums are a thirty-second of their input at most

struct alignas(64) CacheLine {  // wide vectors across its border cost twice
  float value[16] = {};
};

void add_partials(std::int64_t blocks, std::int64_t width, const float* partials, std::int64_t begin, std::int64_t end,
                  float* sum) {
  std::vector<double> total(static_cast<std::size_t>(end - begin));
  for (std::int64_t i = 0; i < blocks; ++i) {
    const float* partial = partials + i * width + begin;
    for (std::size_t j = 0; j < total.size(); ++j) total[j] += partial[j];
  }
  std::transform(total.begin(), total.end(), sum + begin, [](double value) { return static_cast<float>(value); });
}

}  // namespace

std::vector<float> sum_over_rows(
    std::int64_t M, std::int64_t block_rows, std::int64_t width,
    const std::function<void(std::int64_t begin, std::int64_t end, float* partial)>& body) {
  const std::int64_t rows = std::max(block_rows, least_rows), blocks = (M + rows - 1) / rows;
  std::vector<CacheLine> partials(static_cast<std::size_t>((blocks * width + 15) / 16));
  float* const first = reinterpret_cast<float*>(partials.data());
  parallel_for(blocks, [&](std::int64_t i) { body(i * rows, std::min(i * rows + rows, M), first + i * width); });
  std::vector<float> sums(static_cast<std::size_t>(width));
  parallel_pieces(width, 512, [&](std::int64_t begin, std::int64_t end) {
    add_partials(blocks, width, first, begin, end, sums.data());
  });
  return sums;
}

// Adds `rows` rows of `width` elements, four at a time.
template <class Element>
static void add_rows(std::int64_t rows, std::int64_t width, const Element* x, std::int64_t stride,
                     float* __restrict sum) {
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    const Element *x0 = x + i * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
    for (std::int64_t j = 0; j < width; ++j)
      sum[j] = sum[j] + ((to_float(x0[j]) + to_float(x1[j])) + (to_float(x2[j]) + to_float(x3[j])));
  }
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < width; ++j) sum[j] += to_float(x[i * stride + j]);
  }
}

template <class Element>
static void column_sums_of(std::int64_t M, std::int64_t D, const Element* x, std::int64_t stride, float* sum) {
  constexpr std::int64_t columns = 128, block = 256;
  parallel_pieces(D, columns, [&](std::int64_t begin, std::int64_t end) {
    double total[columns] = {};
    for (std::int64_t i = 0; i < M; i += block) {
      float partial[columns] = {};
      add_rows(std::min(block, M - i), end - begin, x + i * stride + begin, stride, partial);
      for (std::int64_t j = 0; j < end - begin; ++j) total[j] += static_cast<double>(partial[j]);
    }
    std::transform(total, total + (end - begin), sum + begin, [](double value) { return static_cast<float>(value); });
  });
}

void column_sums(std::int64_t M, std::int64_t D, const void* x, Dtype dtype, std::int64_t stride, float* sum) {
  if (dtype == Dtype::bf16) return column_sums_of(M, D, static_cast<const Bf16*>(x), stride, sum);
  column_sums_of(M, D, static_cast<const float*>(x), stride, sum);
}

}  // namespace troika::cpu
