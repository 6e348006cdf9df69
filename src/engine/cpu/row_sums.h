// Sums over rows in one order for every number of threads: blocks of rows, cut by shape, add up partial sums in fp32;
// these are added in the order of the blocks in double.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cpu/dtype.h"

namespace troika::cpu {

// Rows in one piece of work, from the elements of a row.
std::int64_t rows_per_block(std::int64_t row_elements);

// Blocks of block_rows or more. body(begin, end, partial) adds rows [begin, end) to the `width` values of partial, which are 0 before. Blocks run in
// parallel. Returns the `width` sums.
std::vector<float> sum_over_rows(std::int64_t M, std::int64_t block_rows, std::int64_t width,
                                 const std::function<void(std::int64_t begin, std::int64_t end, float* partial)>& body);

// sum[j] = sum over i of x[i * stride + j], of M rows of D. In pieces of columns.
void column_sums(std::int64_t M, std::int64_t D, const void* x, Dtype dtype, std::int64_t stride, float* sum);

}  // namespace troika::cpu
