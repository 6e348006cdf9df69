// Gradients as integers on a grid, q = x * 2^shift to nearest, ties to even; contracts and limits in kernels/grid.h.
// Flat arrays on the device; work is queued on the stream. The integers and floats have the bits that module cpu gives.
#pragma once

#include <cstdint>

#include "cuda/stream.h"

namespace troika::cuda {

// `largest`, on the device, may be null: it becomes the bits of the largest magnitude among the elements where those are more; of
// NaN and infinity they are above all numbers'. The caller sets it to 0 first.
void round_to_grid(std::int64_t count, float* x, int shift, std::uint32_t* largest, const Stream& stream);
void set_integers(std::int64_t count, std::int64_t* sum, const float* x, int shift, std::uint32_t* largest,
                  const Stream& stream);
void add_integers(std::int64_t count, std::int64_t* sum, const float* x, int shift, std::uint32_t* largest,
                  const Stream& stream);

// x = sum * 2^-shift: to double, then to fp32.
void from_integers(std::int64_t count, const std::int64_t* sum, int shift, float* x, const Stream& stream);

// chunk_squares of flat.h of what from_integers would give.
void integer_chunk_squares(std::int64_t count, const std::int64_t* sum, int shift, std::int64_t chunk, double* squares,
                           const Stream& stream);

}  // namespace troika::cuda
