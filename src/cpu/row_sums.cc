#include "cpu/row_sums.h"

#include <algorithm>

#include "cpu/parallel.h"

namespace troika::cpu {

// About 20 us of work; the upper limit keeps the rounding of one partial sum small.
std::int64_t rows_per_block(std::int64_t row_elements) {
  return std::clamp<std::int64_t>(16384 / std::max<std::int64_t>(row_elements, 1), 1, 512);
}

namespace {

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
  const std::int64_t blocks = (M + block_rows - 1) / block_rows;
  std::vector<CacheLine> partials(static_cast<std::size_t>((blocks * width + 15) / 16));
  float* const first = reinterpret_cast<float*>(partials.data());
  parallel_for(blocks, [&](std::int64_t i) {
    body(i * block_rows, std::min(i * block_rows + block_rows, M), first + i * width);
  });
  std::vector<float> sums(static_cast<std::size_t>(width));
  parallel_pieces(width, 512, [&](std::int64_t begin, std::int64_t end) {
    add_partials(blocks, width, first, begin, end, sums.data());
  });
  return sums;
}

// Rows [begin, end) into sum, four at a time.
static void add_rows(std::int64_t begin, std::int64_t end, std::int64_t D, const float* x, std::int64_t stride,
                     float* __restrict sum) {
  std::int64_t i = begin;
  for (; i + 4 <= end; i += 4) {
    const float *x0 = x + i * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
    for (std::int64_t j = 0; j < D; ++j) sum[j] = sum[j] + ((x0[j] + x1[j]) + (x2[j] + x3[j]));
  }
  for (; i < end; ++i) {
    for (std::int64_t j = 0; j < D; ++j) sum[j] += x[i * stride + j];
  }
}

void column_sums(std::int64_t M, std::int64_t D, const float* x, std::int64_t stride, float* sum) {
  const auto sums = sum_over_rows(M, rows_per_block(D), D, [&](std::int64_t begin, std::int64_t end, float* partial) {
    add_rows(begin, end, D, x, stride, partial);
  });
  std::copy(sums.begin(), sums.end(), sum);
}

}  // namespace troika::cpu
