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

// A stretch's value is its shift.
using GridStretches = std::vector<Stretch<int>>;

template <int n, class Run, class Give>
void convert(const Run& run, const std::vector<Stretch<Grid>>& list, const float* x, const Give& give, std::uint32_t* largest) {
  using Kernel = Convert<Give, n>;
  in_arguments(list, Kernel::piece, [&](const Stretches<Grid>& some, std::int64_t) { run(Kernel{give, x, largest, some}); });
}

template <class Run, class Give>
void convert(const Run& run, const GridStretches& stretches, const float* x, const Give& give, const void* to,
             std::uint32_t* largest) {
  std::vector<Stretch<Grid>> list;
  for (const auto& [count, shift] : stretches)
    list.push_back({count, {std::ldexp(1.0, shift), std::ldexp(1.0, -shift), static_cast<std::int64_t>(list.size())}});
  vectors_fit(list, {x, to}) ? convert<4>(run, list, x, give, largest) : convert<1>(run, list, x, give, largest);
}

// `largest`, on the device, one of each stretch, may be null: it becomes the bits of the largest magnitude among the elements where
// those are more; of NaN and infinity they are above all numbers'. The caller sets it to 0 first.
template <class Run>
void round_to_grid(const Run& run, const GridStretches& stretches, float* x, std::uint32_t* largest) {
  convert(run, stretches, x, RoundInPlace{x}, x, largest);
}

template <class Run>
void set_integers(const Run& run, const GridStretches& stretches, std::int64_t* sum, const float* x, std::uint32_t* largest) {
  convert(run, stretches, x, SetIntegers{sum}, sum, largest);
}

template <class Run>
void add_integers(const Run& run, const GridStretches& stretches, std::int64_t* sum, const float* x, std::uint32_t* largest) {
  convert(run, stretches, x, AddIntegers{sum}, sum, largest);
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

inline std::vector<Stretch<double>> back_of(const GridStretches& stretches) {
  std::vector<Stretch<double>> list;
  for (const auto& [count, shift] : stretches) list.push_back({count, std::ldexp(1.0, -shift)});
  return list;
}

// x = sum * 2^-shift: to double, then to fp32.
template <class Run>
void from_integers(const Run& run, const GridStretches& stretches, const std::int64_t* sum, float* x) {
  each_of_stretches(run, back_of(stretches), FromIntegers{{sum}, x}, {sum, x});
}

// chunk_squares (flat_dispatch.h) of what from_integers would give.
template <class Run>
void integer_chunk_squares(const Run& run, const GridStretches& stretches, const std::int64_t* sum, std::int64_t chunk,
                           double* squares) {
  squares_of_chunks(run, back_of(stretches), IntegerElements{sum}, chunk, squares);
}

}  // namespace troika::cuda::dispatch
