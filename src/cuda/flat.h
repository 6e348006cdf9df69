// Operations over flat arrays on the device, queued on the stream; contracts in kernels/flat.h: an element's result
// depends on its own inputs alone, with one rounding per arithmetic operation, and has the bits that module cpu gives.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"
#include "cuda/stream.h"

namespace troika::cuda {

void add_into(std::int64_t count, float* sum, const float* other, const Stream& stream);

// Squares of consecutive chunks of `chunk` elements (the last may be shorter) into squares[] on the device, each summed
// in double in the order of cpu::chunk_squares.
void chunk_squares(std::int64_t count, const float* x, std::int64_t chunk, double* squares, const Stream& stream);

struct AdamWNumbers {
  float lr = 0, beta1 = 0, beta2 = 0, one_minus_beta1 = 0, one_minus_beta2 = 0, eps = 0;
  float decay = 1;                           // the parameter is multiplied by it
  float m_correction = 1, v_correction = 1;  // 1 / (1 - beta^step)
  float gradient_scale = 1;
};
struct AdamWState {
  float* parameter = nullptr;
  const float* gradient = nullptr;
  float *m = nullptr, *v = nullptr;
};
void adamw(const AdamWNumbers& a, std::int64_t count, const AdamWState& state, const Stream& stream);
// Writes rounded = the new parameter in `dtype`, too.
void adamw(const AdamWNumbers& a, std::int64_t count, const AdamWState& state, Dtype dtype, void* rounded,
           const Stream& stream);

// rounded = master in `dtype`, to nearest, ties to even.
void round_into(std::int64_t count, const float* master, Dtype dtype, void* rounded, const Stream& stream);

}  // namespace troika::cuda
