// Gradients as integers on a grid, q = x * 2^shift to nearest, ties to even; contracts and limits in kernels/grid.h.
// Flat arrays on the device; the integers and floats have the bits that module cpu gives.
#pragma once

#include <cmath>
#include <cstdint>

#include "cuda/dispatch.h"
#include "cuda/flat_dispatch.h"
#include "cuda/grid_kernels.h"

namespace troika::cuda::dispatch {

inline constexpr std::int64_t most_blocks = 4224;

template <class Run, class Give>
void convert(const Run& run, std::int64_t count, const float* x, int shift, const Give& give, const void* to,
             std::uint32_t* largest) {
  const double scale = std::ldexp(1.0, shift);
  if (vectors_fit(4, {x, to}, {})) {
    run(Convert<Give, 4>{give, x, scale, largest, count, most_blocks});
  } else {
    run(Convert<Give, 1>{give, x, scale, largest, count, most_blocks});
  }
}

// `largest`, on the device, may be null: it becomes the bits of the largest magnitude among the elements where those are more; of
// NaN and infinity they are above all numbers'. The caller sets it to 0 first.
template <class Run>
void round_to_grid(const Run& run, std::int64_t count, float* x, int shift, std::uint32_t* largest) {
  convert(run, count, x, shift, RoundInPlace{x, std::ldexp(1.0, -shift)}, x, largest);
}

template <class Run>
void set_integers(const Run& run, std::int64_t count, std::int64_t* sum, const float* x, int shift,
                  std::uint32_t* largest) {
  convert(run, count, x, shift, SetIntegers{sum}, sum, largest);
}

template <class Run>
void add_integers(const Run& run, std::int64_t count, std::int64_t* sum, const float* x, int shift,
                  std::uint32_t* largest) {
  convert(run, count, x, shift, AddIntegers{sum}, sum, largest);
}

// The elements [first, first + count) of a matrix of width D, and rows by their numbers in it, each once.
struct RowsOfPart {
  std::int64_t first = 0, count = 0, rows = 0, D = 0;
  const std::int64_t* row = nullptr;  // on the device
};
// x: rows x D. What of a row is not in the part is left out of the sum, not of the largest magnitude.
template <class Run>
void add_rows_on_grid(const Run& run, const RowsOfPart& part, std::int64_t* sum, const float* x, int shift,
                      std::uint32_t* largest) {
  run(AddRowsOnGrid{sum, part.row, x, std::ldexp(1.0, shift), largest, part.first, part.count, part.rows, part.D, most_blocks});
}

// x = sum * 2^-shift: to double, then to fp32.
template <class Run>
void from_integers(const Run& run, std::int64_t count, const std::int64_t* sum, int shift, float* x) {
  each_element(run, count, FromIntegers{{sum, std::ldexp(1.0, -shift)}, x}, {sum, x});
}

// chunk_squares of flat.h of what from_integers would give.
template <class Run>
void integer_chunk_squares(const Run& run, std::int64_t count, const std::int64_t* sum, int shift, std::int64_t chunk,
                           double* squares) {
  run(ChunkSquares<IntegerElements>{{sum, std::ldexp(1.0, -shift)}, squares, count, chunk});
}

}  // namespace troika::cuda::dispatch
